package writ.extensions # want unsafe-extension "not below"

x := 1
