"""The batch phase: fits of the first seconds from many initial guesses."""
