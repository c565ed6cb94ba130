package verify

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/analysis/regions"
	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/assertion"
	"github.com/writ-policy/writ/translator/tables"
)

// atom is a value of a request that a condition reads, and what to try for it.
type atom struct {
	path   []string
	values []any
}

// mostSet bounds the values that a variant changes at once.
const mostSet = 4

// varied returns a variant of a request that breaks the assertion, nil without any. The
// values that conditions of its paths compare with are tried for what they read.
func (p *prover) varied(x *crossing, left *int) *crossing {
	atoms := p.atoms(x)
	var found *crossing
	var vary func(object map[string]any, from, more int) bool
	vary = func(object map[string]any, from, more int) bool {
		if more == 0 {
			if *left--; *left < 0 || p.stop() {
				return false
			}
			a := askedOf(object, x.asked)
			if a == nil {
				return true
			}
			y, err := p.cross(a, object)
			if err != nil {
				p.err = err
				return false
			}
			if y != nil && p.isInGateway(p.a.Of, y) && !p.isInGateway(p.out, y) && p.breaksAt(y) {
				found = y
			}
			return found == nil
		}
		for i := from; i < len(atoms); i++ {
			for _, value := range atoms[i].values {
				if !vary(withValue(object, atoms[i].path, value), i+1, more-1) {
					return false
				}
			}
		}
		return true
	}
	for more := 1; more <= min(mostSet, len(atoms)); more++ {
		if !vary(x.object, 0, more) {
			break
		}
	}
	return found
}

// askedOf returns what classes read of a request that was varied, nil if it has none.
func askedOf(object map[string]any, like *asked) *asked {
	request, _ := object["request"].(map[string]any)
	out := *like
	out.host, _ = request["host"].(string)
	out.method, _ = request["method"].(string)
	path, _ := request["path"].(string)
	out.path, _, _ = strings.Cut(path, "?")
	out.headers = make(map[string]string)
	switch headers := request["headers"].(type) {
	case map[string]string:
		out.headers = headers
	case map[string]any:
		for name, value := range headers {
			text, isText := value.(string)
			if !isText {
				return nil
			}
			out.headers[strings.ToLower(name)] = text
		}
	}
	auth, _ := object["auth"].(map[string]any)
	out.identity = auth["identity"] != nil
	if out.host == "" || out.method == "" || !strings.HasPrefix(path, "/") {
		return nil
	}
	return &out
}

// withValue returns a request with a value at a path.
func withValue(object map[string]any, path []string, value any) map[string]any {
	out := maps.Clone(object)
	if len(path) == 1 {
		out[path[0]] = value
		return out
	}
	inner := make(map[string]any)
	switch given := object[path[0]].(type) {
	case map[string]any:
		inner = given
	case map[string]string:
		for key, text := range given {
			inner[key] = text
		}
	}
	out[path[0]] = withValue(inner, path[1:], value)
	return out
}

// atoms returns what the conditions of the paths of a request read.
func (p *prover) atoms(x *crossing) []atom {
	by := make(map[string]*atom)
	var order []string
	add := func(path []string, values ...any) {
		if path = ownPath(path); path == nil || path[0] == "auth" && path[1] == "identity" && !x.asked.identity {
			return
		}
		key := strings.Join(path, "\x00")
		if by[key] == nil {
			by[key] = &atom{path: path}
			order = append(order, key)
		}
		for _, value := range values {
			if !slices.ContainsFunc(by[key].values, func(v any) bool { return statement.JSONText(v) == statement.JSONText(value) }) {
				by[key].values = append(by[key].values, value)
			}
		}
	}
	for i, w := range p.worlds() {
		for _, target := range w.conditional(x, i) {
			steps := w.stepsOf(target)
			for _, r := range steps.Rules() {
				for _, c := range slices.Concat(r.Rule.When, patternsOf(r.Rule)) {
					addCondition(&c, add)
				}
				if r.Rule.Authorization != nil && r.Rule.Authorization.Review != nil {
					p.addReview(r.Rule.Authorization.Review, w, add)
				}
			}
			for _, text := range w.textsOf(target) {
				addText(text, add)
			}
		}
	}
	return elements.Map(order, func(key string) atom { return *by[key] })
}

// conditional returns the paths that decide a request and have a policy.
func (w *world) conditional(x *crossing, i int) []string {
	if !x.isTied {
		if w.stepsOf(x.targets[i]) == nil {
			return nil
		}
		return []string{x.targets[i]}
	}
	w.stepsOf("")
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.steps)), func(target string) bool { return w.steps[target] == nil })
}

func patternsOf(r *tables.GatewayRule) []tables.RequestCondition {
	switch {
	case r.Pattern != nil:
		return r.Pattern.AllOf
	case r.Authorization != nil && r.Authorization.Patterns != nil:
		return *r.Authorization.Patterns
	}
	return nil
}

// textsOf returns the texts of the rules in force on a path.
func (w *world) textsOf(target string) []string {
	g := w.gateway()
	var out []string
	for _, path := range g.Paths {
		e, ok := path.Effective[tables.KindAuthPolicy]
		if !ok || g.PathName(path) != target {
			continue
		}
		for _, r := range g.Effective[e].Rules {
			tables.EachText(r.Value, func(text string) { out = append(out, text) })
		}
	}
	return tables.Once(out)
}

// ownPath returns where a request has what conditions read at a path, nil for what it does
// not have, or what is not tried.
func ownPath(path []string) []string {
	if len(path) > 3 && slices.Equal(path[:3], []string{"context", "request", "http"}) {
		path = append([]string{"request"}, path[3:]...)
	} else if len(path) > 1 && path[0] == "context" {
		path = path[1:]
	}
	if len(path) < 2 || !slices.Contains([]string{"auth", "request", "source", "destination", "connection", "metadata"}, path[0]) {
		return nil
	}
	switch path[0] + "." + path[1] {
	case "request.url_path":
		return []string{"request", "path"}
	case "request.time", "request.query", "auth.authorization", "auth.response":
		return nil
	case "request.headers":
		if len(path) < 3 {
			return nil
		}
		return []string{"request", "headers", strings.ToLower(path[2])}
	}
	if path[0] == "auth" && len(path) < 3 {
		return nil
	}
	return path
}

// addCondition adds what a condition compares.
func addCondition(c *tables.RequestCondition, add func(path []string, values ...any)) {
	if q := c.Comparison; q != nil && len(q.Path.Modifiers) == 0 && !q.Path.Length {
		path := q.Path.Steps
		if len(path) > 1 && isNumber(path[len(path)-1]) {
			path = path[:len(path)-1]
			add(path, []string{q.Value})
		}
		switch q.Operator {
		case "matches":
			found, _ := regions.Of([]string{q.Value})
			for _, value := range found {
				add(path, value)
			}
		case "incl", "excl":
			add(path, []string{q.Value}, q.Value, []string{unnamed})
		default:
			add(path, q.Value, unnamed)
		}
	}
	for _, inner := range slices.Concat(c.All, c.Any) {
		addCondition(&inner, add)
	}
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// addReview adds the subjects that a review of the point access may ask for.
func (p *prover) addReview(r *tables.AccessReview, w *world, add func(path []string, values ...any)) {
	for _, v := range []*tables.RequestValue{r.User, r.AuthorizationGroups} {
		if v == nil || v.Template == nil || v.Template.Path == nil {
			continue
		}
		kind, asList := statement.UserPrefix, v == r.AuthorizationGroups
		if asList {
			kind = statement.GroupPrefix
		}
		for _, principal := range w.index.ordered[:min(len(w.index.ordered), maxNames)] {
			if name, found := strings.CutPrefix(principal, kind); found && asList {
				add(v.Template.Path.Steps, []string{name})
			} else if found {
				add(v.Template.Path.Steps, name)
			}
		}
	}
}

// maxNames bounds the principals that are tried for a review.
const maxNames = 200

var (
	readPaths    = regexp.MustCompile(`\b(?:auth\.identity|auth\.metadata|request|source|destination|context|connection|metadata)(?:\.\w+|\[["'][^"'\]]+["']\])+`)
	pathSteps    = regexp.MustCompile(`\[["']([^"'\]]+)["']\]|(\w+)`)
	quotedValues = regexp.MustCompile(`"([^"\\]{1,64})"|'([^'\\]{1,64})'`)
	numbers      = regexp.MustCompile(`\b\d{1,9}\b`)
)

// addText adds what CEL or Rego reads, with the constants that it has. The last step of a path
// may be a method.
func addText(text string, add func(path []string, values ...any)) {
	var values []any
	for _, constant := range statement.Submatches(quotedValues, text) {
		values = append(values, constant)
	}
	for _, number := range numbers.FindAllString(text, -1) {
		n, _ := strconv.Atoi(number)
		values = append(values, n, n+1)
	}
	for _, constant := range statement.Submatches(quotedValues, text) {
		values = append(values, []string{constant}, constant+assertion.MadeUp, "/"+constant)
	}
	values = append(values, true, unnamed)
	for _, read := range readPaths.FindAllString(text, -1) {
		path := statement.Submatches(pathSteps, read)
		last := path[len(path)-1]
		if slices.Contains(methods, last) {
			path = path[:len(path)-1]
		}
		add(path, values...)
	}
}

// methods are functions of texts and lists in CEL.
var methods = []string{"startsWith", "endsWith", "contains", "matches", "exists", "all", "exists_one", "filter", "map", "size", "split", "lowerAscii", "upperAscii", "orValue", "replace", "trim"}
