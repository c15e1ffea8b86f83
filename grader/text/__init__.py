"""Text from outside made safe to show, and numbers as people write them."""
