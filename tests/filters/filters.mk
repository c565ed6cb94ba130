.PHONY: databases
databases: ## compare filters with decisions in SQLite, PostgreSQL and MariaDB, which must be installed
	DATABASES=1 $(GO) test -count=1 -timeout 30m ./tests/filters
