@rem Starts the program `recap`, which is installed beside this script.
@"%~dp0recap.exe" %*
