package answers

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/translator/tables"
)

// The values of MatrixQuery.Of.
const (
	ofWho  = "who"
	ofWhat = "what"
)

// subjectRow is a row before its cells: of a subject, with members that its question
// states beside those of the matrix.
type subjectRow struct {
	console.Row
	principals []string
	own        map[string]any
}

// admitMatrix returns the error of a caller that may not ask for a matrix. A caller who is not
// an auditor asks what it can do itself.
func (v *viewer) admitMatrix(c console.Caller, q *console.MatrixQuery) error {
	if !c.SeesAll && (q.Of != ofWhat || q.Subject != "" && strings.TrimPrefix(q.Subject, statement.UserPrefix) != c.User) {
		return console.ErrForbidden
	}
	return v.needRevision()
}

// matrixRows lists the rows of all pages, in the order of their names.
func (v *viewer) matrixRows(c console.Caller, q *console.MatrixQuery, stated map[string]any) ([]subjectRow, error) {
	var rows []subjectRow
	var err error
	switch q.Of {
	case "", ofWho:
		rows, err = v.subjectRows(q, stated)
	case ofWhat:
		rows, err = v.resourceRows(c, q)
	default:
		err = &console.Error{Reason: console.Invalid, Field: "of", Message: `of must be "who" or "what"`}
	}
	return slices.DeleteFunc(rows, func(row subjectRow) bool { return !has(row.Name, q.Search) }), err
}

// subjectRows are the rows of who can do something.
func (v *viewer) subjectRows(q *console.MatrixQuery, stated map[string]any) ([]subjectRow, error) {
	if q.Resource == "" {
		return nil, &console.Error{Reason: console.Invalid, Field: "resource", Message: "resource must not be empty"}
	}
	world, requests := statement.Of(v.policies), v.requestsOf(q.Resource, stated)
	principals := slices.Compact(slices.SortedFunc(slices.Values(slices.Concat(v.names().principals, world.Sessions().Users())), compareNames))
	rows := make([]subjectRow, 0, len(principals))
	for i, p := range principals {
		if q.Only && !isAllowedAnything(world, p, q.Namespace, requests) {
			continue
		}
		name, kind := nameOf(p)
		rows = append(rows, subjectRow{console.Row{Name: name, Kind: kind}, principals[i : i+1], nil})
	}
	return rows, nil
}

// isAllowedAnything reports whether a grant of a principal concerns a resource in a namespace;
// in any place if none is given.
func isAllowedAnything(world *statement.World, principal, namespace string, requests []*statement.Request) bool {
	return slices.ContainsFunc(world.Held(principal, namespace), func(s *statement.Statement) bool {
		return s.Effect == statement.OutcomeAllow && slices.ContainsFunc(requests, s.MayConcern)
	})
}

// requestsOf returns a request for a resource in each API group that a question leaves open.
func (v *viewer) requestsOf(name string, stated map[string]any) (requests []*statement.Request) {
	resource, sub, _ := strings.Cut(name, "/")
	groups := map[string]bool{"": true}
	if group, isKnown := stated["apiGroup"].(string); isKnown {
		groups = map[string]bool{group: true}
	} else {
		for _, pair := range v.names().resources {
			if main, _, _ := strings.Cut(pair[1], "/"); main == resource {
				groups[pair[0]] = true
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		requests = append(requests, &statement.Request{Group: group, Resource: resource, Subresource: sub})
	}
	return requests
}

// lettersOf returns the first letters of the names of rows, with where they begin; nil if all
// rows are on one page.
func lettersOf(rows []subjectRow, limit int) (letters []console.Letter) {
	if len(rows) <= rowsOf(limit) {
		return nil
	}
	for i := range rows {
		first, _ := utf8.DecodeRuneInString(strings.ToUpper(rows[i].Name))
		if len(letters) < maxLetters && (i == 0 || string(first) != letters[len(letters)-1].Letter) {
			letters = append(letters, console.Letter{Letter: string(first), After: strconv.Itoa(i)})
		}
	}
	return letters
}

// maxLetters bounds the letters of a matrix.
const maxLetters = 60

// resourceRows are the rows of what a subject can do. A caller who is not an auditor, and is
// the subject, sees those that a rule of its bindings allows something on.
func (v *viewer) resourceRows(c console.Caller, q *console.MatrixQuery) ([]subjectRow, error) {
	if q.Subject == "" && c.SeesAll {
		return nil, &console.Error{Reason: console.Invalid, Field: "subject", Message: "subject must not be empty"}
	}
	principals := statement.Principals(c.User, c.Groups)
	if c.SeesAll {
		principals = []string{v.principalOf(q.Subject)}
	}
	isAll, world := c.SeesAll && !q.Only, statement.Of(v.policies)
	var rows []subjectRow
	for _, pair := range v.names().resources {
		r := &statement.Request{Group: pair[0]}
		stated := map[string]any{"apiGroup": pair[0]}
		stateResource(stated, pair[1])
		r.Resource, r.Subresource, _ = strings.Cut(pair[1], "/")
		isAllowed := func(p string) bool {
			return isAllowedAnything(world, p, q.Namespace, []*statement.Request{r})
		}
		if isAll || slices.ContainsFunc(principals, isAllowed) {
			rows = append(rows, subjectRow{console.Row{Name: pair[1], Kind: pair[0]}, principals, stated})
		}
	}
	return rows, nil
}

// nameOf returns the name and the kind of a principal.
func nameOf(principal string) (name, kind string) {
	switch of := tables.ParseSubject(principal); {
	case of.IsGroup:
		return of.Name, "group"
	case strings.HasPrefix(of.Name, tables.AccountPrefix):
		return of.Name, "service account"
	default:
		return of.Name, "user"
	}
}

// principalOf returns the principal that a text names: as user:NAME, group:NAME or the name
// of either, the user first.
func (v *viewer) principalOf(text string) string {
	if strings.HasPrefix(text, tables.UserPrefix) || strings.HasPrefix(text, tables.GroupPrefix) {
		return text
	}
	known := v.names().fields
	if !isListed(known["user"], text) && isListed(known["groups"], text) {
		return tables.Group(text)
	}
	return tables.User(text)
}
