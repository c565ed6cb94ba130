.PHONY: page pictures

page: ## walk through the web console in Chromium, in every size and theme
	$(GO_TEST) -count=1 ./tests/page -everything

pictures: ## make the pictures of the web console, of the examples
	$(GO) test -count=1 ./tests/page -run TestPictures -pictures ../../server/console/page/pictures
