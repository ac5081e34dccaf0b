"""The screens: the desk (main screen), the compiled prompt, a passage being generated, and the dialogs."""
