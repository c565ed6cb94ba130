package verify

import (
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/assertion"
)

// outcomesAt are the outcomes of requests, by point.
var outcomesAt = map[string][]string{
	assertion.Access:     {statement.OutcomeAllow, statement.OutcomeDeny, statement.OutcomeNone},
	assertion.Visibility: {statement.OutcomeAllow, statement.OutcomePartial, statement.OutcomeDeny},
}

// allowedAt returns the outcomes of requests that are allowed at a point.
func allowedAt(point string) []string {
	if point == assertion.Visibility {
		return []string{statement.OutcomeAllow, statement.OutcomePartial}
	}
	return []string{statement.OutcomeAllow}
}

// outcomes are those of the word of the assertion.
func (p *prover) outcomes() []string {
	switch p.a.Word {
	case assertion.Allowed:
		return allowedAt(p.a.Point)
	case assertion.Denied:
		return []string{statement.OutcomeDeny}
	case assertion.Shown:
		return []string{statement.OutcomeShown}
	}
	return []string{statement.OutcomeAllow, statement.OutcomeDeny}
}

// isWord reports whether an outcome is the word of the assertion. At the point gateway a
// denial has a status.
func (p *prover) isWord(outcome string) bool {
	outcome, _, _ = strings.Cut(outcome, " ")
	return slices.Contains(p.outcomes(), outcome)
}

// others returns the outcomes at the point of the assertion that are not in a list.
func (p *prover) others(list []string) []string {
	return slices.DeleteFunc(slices.Clone(outcomesAt[p.a.Point]), func(o string) bool { return slices.Contains(list, o) })
}

// isComplete reports whether requests may hold these principals alone: at the point
// visibility, a request has a user.
func (p *prover) isComplete(held []string) bool {
	return p.a.Point != assertion.Visibility || slices.ContainsFunc(held, isUser)
}

func isUser(principal string) bool { return strings.HasPrefix(principal, statement.UserPrefix) }

// isAccount reports whether a principal is a complete service account.
func isAccount(principal string) bool {
	account, found := strings.CutPrefix(principal, statement.UserPrefix+statement.AccountPrefix)
	namespace, name, isComplete := strings.Cut(account, ":")
	return found && isComplete && namespace != "" && name != ""
}

// requestOf returns a request that holds some principals, false if no request does. At the
// point visibility a service account is the user unless there is another one.
func (p *prover) requestOf(held []string) (statement.Request, bool) {
	if p.a.Point != assertion.Visibility {
		return statement.RequestOf(p.a.Point, held)
	}
	var r statement.Request
	var users []string
	for _, principal := range held {
		if isUser(principal) {
			users = append(users, principal)
		} else {
			r.Groups = append(r.Groups, strings.TrimPrefix(principal, statement.GroupPrefix))
		}
	}
	switch len(users) {
	case 0:
	case 2:
		account := slices.IndexFunc(users, isAccount)
		if account < 0 {
			return r, false
		}
		namespace, name, _ := strings.Cut(strings.TrimPrefix(users[account], statement.UserPrefix+statement.AccountPrefix), ":")
		r.Facts = map[string]any{"serviceAccount": map[string]any{"namespace": namespace, "name": name}}
		r.User = strings.TrimPrefix(users[1-account], statement.UserPrefix)
	case 1:
		r.User = strings.TrimPrefix(users[0], statement.UserPrefix)
	default:
		return r, false
	}
	return r, true
}

// admitsUsers reports whether one request may have this many users.
func (k *askers) admitsUsers(held []string) bool {
	users, accounts := 0, 0
	for _, p := range held {
		if isUser(p) {
			users++
			if isAccount(p) {
				accounts++
			}
		}
	}
	return users <= 1 || k.a.Point == assertion.Visibility && users == 2 && accounts > 0
}

// needsUser reports whether no request holds these principals unless a user is added.
func (k *askers) needsUser(held []string) bool {
	return k.a.Point == assertion.Visibility && !slices.ContainsFunc(held, isUser)
}

// fitsFacts reports whether action, type and item of a request are in a class.
func fitsFacts(c *assertion.Class, r *statement.Request) bool {
	text := func(key string) string { value, _ := r.Facts[key].(string); return value }
	if c.Texts["action"] != nil && !c.Texts["action"].Fits(text("action")) || c.Texts["type"] != nil && !c.Texts["type"].Fits(text("type")) {
		return false
	}
	items, _ := r.Facts["items"].([]any)
	return c.Item == nil || len(items) == 1 && fitsItem(c.Item, items[0].(map[string]any))
}

// fitsItem reports whether an item is in a class of items.
func fitsItem(c *assertion.Class, item map[string]any) bool {
	for key, value := range c.Texts {
		if text, _ := item[key].(string); !value.Fits(text) {
			return false
		}
	}
	labels, _ := item["labels"].(map[string]string)
	if labels == nil && !c.Labels["labels"].IsUnknown() {
		labels = map[string]string{}
	}
	return c.Labels["labels"].Fits(labels)
}
