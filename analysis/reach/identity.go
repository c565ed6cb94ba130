package reach

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/translator/tables"
)

// The groups and users that an API server gives a meaning.
const (
	masters         = "system:masters"
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
	nodeGroup       = "system:nodes"
	nodePrefix      = "system:node:"
	systemPrefix    = "system:"
	accountOfSystem = statement.AccountPrefix + "kube-system:"
)

// Identity is who a request says it is.
type Identity struct {
	User   string   `json:"user"`
	Groups []string `json:"groups"` // sorted
	// Session and Escalation are what its requests state; empty for none.
	Session    string `json:"session,omitempty"`
	Escalation string `json:"escalation,omitempty"`
	// Acting is nil for an identity that holds credentials.
	Acting *Acting `json:"acting,omitempty"`

	sink bool // it stands for a cluster administrator, without a name
}

// Acting is an identity that impersonates another one.
type Acting struct {
	By   *Identity `json:"by"`
	Mode string    `json:"mode"`
}

// MarshalJSON implements json.Marshaler.
func (i *Identity) MarshalJSON() ([]byte, error) {
	if i.sink {
		return []byte(`{"sink":"cluster-admin"}`), nil
	}
	type plain Identity
	return json.Marshal((*plain)(i))
}

// identityOf returns the identity that an API server makes of principals that are held
// together.
func identityOf(principals ...string) *Identity {
	i := new(Identity)
	for _, p := range principals {
		if user, isUser := strings.CutPrefix(p, statement.UserPrefix); isUser {
			i.User = user
		} else {
			i.Groups = append(i.Groups, strings.TrimPrefix(p, statement.GroupPrefix))
		}
	}
	i.Groups = withImplied(i.User, i.Groups)
	return i
}

// withImplied returns groups with those that an API server adds to them and to a user.
func withImplied(user string, groups []string) []string {
	all, _ := decision.AddImpliedGroups(user, groups)
	if strings.HasPrefix(user, nodePrefix) {
		all = append(all, nodeGroup)
	}
	if user == "" && !slices.Contains(all, unauthenticated) {
		all = append(all, authenticated)
	}
	return tables.Entries(all)
}

// key identifies what an identity may do. In the mode legacy that does not depend on the one
// that impersonates.
func (i *Identity) key() string {
	by := ""
	switch {
	case i.sink:
		return "sink"
	case i.Acting != nil && i.Acting.Mode == legacy:
		by = legacy
	case i.Acting != nil:
		by = i.Acting.Mode + "\x01" + i.Acting.By.key()
	}
	return fmt.Sprintf("%q %q %q %q %q", i.User, i.Groups, i.Session, i.Escalation, by)
}

// Principals returns what the identity holds, as user:NAME and group:NAME.
func (i *Identity) Principals() []string { return statement.Principals(i.User, i.Groups) }

// own is the principal of an identity that a binding names to grant it something.
func (i *Identity) own() string {
	if i.User != "" {
		return statement.UserPrefix + i.User
	}
	for _, group := range i.Groups {
		if group != authenticated {
			return statement.GroupPrefix + group
		}
	}
	return statement.GroupPrefix + authenticated
}

// holds reports whether an identity has a principal.
func (i *Identity) holds(principal string) bool {
	return slices.Contains(i.Principals(), principal)
}

// request returns a request as the identity makes it.
func (i *Identity) request(r map[string]any) map[string]any {
	out := map[string]any{"user": i.User, "groups": i.Groups}
	if i.Session != "" {
		out["session"] = i.Session
	}
	if i.Escalation != "" {
		out["escalation"] = i.Escalation
	}
	maps.Copy(out, r)
	return out
}

// checked returns the requests that an API server decides for one request of an identity:
// for one that acts in a mode other than legacy, also that of who impersonates.
func (i *Identity) checked(r map[string]any) []map[string]any {
	out := []map[string]any{i.request(r)}
	if i.Acting != nil && i.Acting.Mode != legacy {
		verb, _ := r["verb"].(string)
		out = append(out, i.Acting.By.request(statement.With(r, "verb", onVerb(i.Acting.Mode, verb))))
	}
	return out
}

func onVerb(mode, verb string) string { return "impersonate-on:" + mode + ":" + verb }

// text names an identity for people.
func (i *Identity) text() string {
	if i.sink {
		return "a cluster administrator"
	}
	name, acting := "", ""
	switch account, isAccount := accountOf(i.User); {
	case isAccount:
		name = "service account " + strings.Replace(account, ":", "/", 1)
	case i.User != "":
		name = "user " + i.User
	default:
		name = "group " + strings.TrimPrefix(i.own(), statement.GroupPrefix)
	}
	if i.Acting != nil {
		acting = ", acting"
	}
	if i.User != "" {
		more := elements.Filter(i.Groups, func(group string) bool { return !slices.Contains(withImplied(i.User, nil), group) })
		if len(more) > 0 {
			name += " with group " + strings.Join(more, ", ")
		}
	}
	return name + acting
}

// accountOf returns NAMESPACE:NAME of the user that is a service account.
func accountOf(user string) (account string, ok bool) {
	account, isAccount := strings.CutPrefix(user, statement.AccountPrefix)
	namespace, name, isComplete := strings.Cut(account, ":")
	return account, isAccount && isComplete && namespace != "" && name != "" && !strings.Contains(name, ":")
}

func accountUser(namespace, name string) string {
	return statement.UserPrefix + statement.AccountPrefix + namespace + ":" + name
}
