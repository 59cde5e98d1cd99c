"""Motion over time: Runge-Kutta with sensitivities, variational integrators."""
