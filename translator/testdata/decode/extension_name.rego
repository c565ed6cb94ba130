package writ.extensions["../x"] # want bad-name "../x"

x := 1
