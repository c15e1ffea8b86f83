I am sorry, but I cannot help with that.
