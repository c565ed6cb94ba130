.PHONY: databases filters
databases: ## compare filters with decisions in SQLite, PostgreSQL and MariaDB; what is not installed is skipped
	DATABASES=1 $(GO) test -count=1 -timeout 30m -v ./tests/filters

filters: databases
