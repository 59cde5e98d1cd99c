"""Discrete mechanics: variational integrators of trees and closed loops, and their derivatives."""
