A stack keeps its items in a list. Its last item is the first that comes out.
