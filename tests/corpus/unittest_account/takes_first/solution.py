class Overdrawn(Exception):
    pass


class Account:
    def __init__(self, balance):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount

    async def withdraw(self, amount):
        self.balance -= amount
        if self.balance < 0:
            raise Overdrawn(amount)
