.PHONY: databases filters bench-filters
# A world has 20 policies, ten at each point, and 200 rows.
databases: export FILTER_WORLDS ?= 50
databases: ## compare filters with decisions in SQLite, PostgreSQL and MariaDB, by 1,000 policies; what is not installed is skipped
	DATABASES=1 $(GO) test -count=1 -timeout 90m -v ./tests/filters

filters: databases

bench-filters: ## print the figures of filters and lists in one run, beside deciding row by row
	FIGURES=1 $(GO) test -count=1 -timeout 30m -v -run Figures ./tests/filters
