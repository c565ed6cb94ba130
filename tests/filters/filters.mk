.PHONY: databases filters bench-filters
databases: ## compare filters with decisions in SQLite, PostgreSQL and MariaDB; what is not installed is skipped
	DATABASES=1 $(GO) test -count=1 -timeout 30m -v ./tests/filters

filters: databases

bench-filters: ## print the figures of filters and lists in one run, beside deciding row by row
	FIGURES=1 $(GO) test -count=1 -timeout 30m -v -run Figures ./tests/filters
