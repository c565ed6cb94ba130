package writ.extensions.dice

holds(request, params) if rand.intn("x", 6) == 1
