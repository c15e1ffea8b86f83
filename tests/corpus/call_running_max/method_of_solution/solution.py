class Solution:
    def running_max(self, numbers):
        return [max(numbers[: end + 1]) for end in range(len(numbers))]
