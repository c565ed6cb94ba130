package risk

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/tables"
)

// everyone are the principals that Kubernetes gives to callers whatever their name is.
var everyone = []string{"group:system:authenticated", "group:system:unauthenticated", "user:system:anonymous"}

const (
	accountUser  = statement.UserPrefix + statement.AccountPrefix
	accountGroup = statement.GroupPrefix + "system:serviceaccounts"
)

func isEverybody(principal string) bool { return slices.Contains(everyone, principal) }

func isDefaultAccount(principal string) bool {
	return strings.HasPrefix(principal, accountUser) && strings.HasSuffix(principal, ":default")
}

// weight is what a holder adds to the level of a finding: a power of everybody, or of every
// pod, matters more than that of an account, and that of a named person matters less.
func weight(principal string) Level {
	switch {
	case isEverybody(principal), isDefaultAccount(principal),
		principal == accountGroup, strings.HasPrefix(principal, accountGroup+":"):
		return 1
	case strings.HasPrefix(principal, accountUser):
		return 0
	}
	return -1
}

// isStock reports whether an API server makes the grant itself. A subject that was added to
// such a binding does not count: only names that begin with "system:" do, without those
// of everybody and of accounts outside of kube-system.
func isStock(b *tables.Binding, principal string) bool {
	if !b.Stock || isEverybody(principal) {
		return false
	}
	if account, ok := strings.CutPrefix(principal, accountUser); ok {
		return strings.HasPrefix(account, systemNamespace+":") && !isDefaultAccount(principal)
	}
	_, name, _ := strings.Cut(principal, ":")
	return strings.HasPrefix(name, "system:") && !strings.HasPrefix(principal, accountGroup) || b.Name == "system:service-account-issuer-discovery"
}

// Subject names a principal for people.
func Subject(principal string) string {
	if account, ok := strings.CutPrefix(principal, accountUser); ok {
		return "service account " + strings.Replace(account, ":", "/", 1)
	}
	return strings.Replace(principal, ":", " ", 1)
}
