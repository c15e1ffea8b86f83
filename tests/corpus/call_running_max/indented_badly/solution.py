def running_max(numbers):
    found = []
   return found
