"""`python -m tui` is the command `stonehand`."""

from tui.launch import main

if __name__ == "__main__":
    main()
