Feature: Checkout
  A customer turns a cart into an order, once.

  Background:
    Given a cart with 2 books at 12.50 EUR each

  Scenario: The order is placed
    When the customer confirms the order
    And the payment of 25.00 EUR is accepted
    Then the order is placed
    And the cart is empty

  Scenario: The customer leaves
    When the customer leaves before confirming
    Then no order exists
    And the cart is kept for 30 days

  Scenario: A book is sold out meanwhile
    Given one of the books was sold to somebody else
    When the customer confirms the order
    Then the order is not placed
    And the customer is told which book is missing

  Scenario: The payment is refused
    When the customer confirms the order
    And the payment is refused
    Then the order is open
    And the cart is kept
