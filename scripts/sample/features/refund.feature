Feature: Refund
  A customer who sends something back gets back what it cost.

  Background:
    Given a placed order of 2 books at 12.50 EUR each

  Scenario: One book comes back
    When the customer returns one book
    Then the card is refunded 12.50 EUR
    And the customer is told when the money is back

  Scenario: Everything comes back
    When the customer returns both books
    Then the card is refunded 25.00 EUR
    And the order is cancelled

  Scenario: The same book comes back twice
    Given one book was refunded
    When the same book is returned again
    Then nothing is refunded
