import sys


def main():
    numbers = [int(word) for word in sys.stdin.read().split()]
    print(sum(numbers[1:]))


if __name__ == "__main__":
    main()
