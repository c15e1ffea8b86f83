You have to read the numbers and add them up; the built-in function for
adding is all that is needed here.
