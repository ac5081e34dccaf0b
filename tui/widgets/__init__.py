"""The widgets of the editor. Nothing is imported here: a screen loads the widgets it shows."""
