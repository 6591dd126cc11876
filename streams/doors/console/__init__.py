"""The console: its built files, the sign-in of browsers, and the saved views of a team."""
