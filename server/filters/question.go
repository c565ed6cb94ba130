package filters

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-policy/writ/analysis/filter"
	"github.com/writ-policy/writ/internal/jsontext"
	"github.com/writ-policy/writ/server/decision"
)

// Question is a valid body.
type Question struct {
	visibility *decision.VisibilityRequest // nil at the point access
	access     *decision.Request
	open       []string
	target     string
	columns    *filter.Columns
	first      int
	// shape is the rest of the body beside the request, for keys of a cache.
	shape string
}

// The members of a request that may be open, and that are unless a body has others.
var (
	openable    = []string{"namespace", "name", "labels", "namespaceLabels"}
	openDefault = openable[:2]
)

// maxFirst is the largest number of a first parameter.
const maxFirst = 60_000

func invalid(field, format string, args ...any) *decision.InvalidRequest {
	return &decision.InvalidRequest{Code: decision.CodeInvalidRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Parse reads the body of a question at one of Points. target is that of a body without one,
// and may be empty; labels are those of clusters, which the request may leave out. The error is a
// *decision.InvalidRequest.
func Parse(point string, body decision.Value, target string, labels decision.ClusterLabels) (*Question, error) {
	if !body.IsObject() {
		return nil, invalid("", "the body is not a JSON object")
	}
	q := &Question{target: target, first: 1}
	var request, columns decision.Value
	isSet := map[string]bool{}
	for key, value := range body.Members() {
		if value.IsNull() && key != "request" {
			continue
		}
		isSet[key] = true
		var err error
		switch key {
		case "request":
			request = value
		case "columns":
			columns = value
		case "target":
			err = read(key, value, &q.target, "a string")
		case "open":
			err = read(key, value, &q.open, "a list of strings")
		case "firstParameter":
			err = read(key, value, &q.first, "an integer")
		default:
			return nil, invalid(key, "unknown field %q", key)
		}
		if err != nil {
			return nil, err
		}
	}
	if !isSet["open"] {
		q.open = openDefault
	}
	if err := q.check(point, isSet); err != nil {
		return nil, err
	}
	var given any
	if !columns.IsAbsent() {
		if err := json.Unmarshal(columns.Bytes(), &given); err != nil {
			return nil, invalid("columns", "columns must be an object")
		}
	}
	if err := q.readColumns(given); err != nil {
		return nil, err
	}
	return q, q.readRequest(point, request, labels)
}

// readColumns reads the columns of a body, nil where it has none.
func (q *Question) readColumns(given any) error {
	var malformed *filter.ColumnsError
	if q.columns, malformed = filter.ParseColumns(given); malformed != nil {
		return invalid(malformed.Field, "%s", malformed.Error())
	}
	text, err := json.Marshal([]any{q.target, q.open, q.first, given})
	q.shape = string(text)
	return err
}

// Options are what a body has beside its request. Open is of the point access; nil is the
// namespace and the name. Columns are values of JSON, and First is the number of the first
// parameter, zero for 1 and filter.Literal for values in the text.
type Options struct {
	Open    []string
	Target  string
	Columns any
	First   int
}

// OfInput returns the question about a request at one of Points, as a body has it, which may leave
// out the labels of its cluster. The error is a *decision.InvalidRequest.
func OfInput(point string, request decision.Value, o Options, labels decision.ClusterLabels) (*Question, error) {
	q, err := questionOf(point, o)
	if err != nil {
		return nil, err
	}
	return q, q.readRequest(point, request, labels)
}

// OfVisibility returns the question about a request without items. The error is a
// *decision.InvalidRequest.
func OfVisibility(r *decision.VisibilityRequest, o Options) (*Question, error) {
	q, err := questionOf(decision.Visibility, o)
	switch {
	case err != nil:
		return nil, err
	case r.Items != nil || r.Aggregations != nil || r.Metrics != nil:
		return nil, invalid("request.items", "items, aggregations and metrics must be absent: rows are the items")
	case r.Type == "":
		return nil, invalid("request.type", `key "type" must be a string that is not empty`)
	}
	q.visibility = r
	return q, nil
}

// OfAccess returns the question about a request of a resource without what is open. The error
// is a *decision.InvalidRequest.
func OfAccess(r *decision.Request, o Options) (*Question, error) {
	q, err := questionOf(decision.Access, o)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{"namespace": r.Namespace != "", "name": r.Name != "", "labels": r.Labels != nil, "namespaceLabels": r.NamespaceLabels != nil}
	for _, key := range q.open {
		if has[key] {
			return nil, invalid("request."+key, "key %q must be absent: it is open", "request."+key)
		}
	}
	if r.Path != "" {
		return nil, invalid("request.path", `key "request.path" must be absent: a filter is about resources`)
	}
	q.access = r
	return q, r.Validate()
}

// Input returns the text of the request that the question was made of, with labels that were added.
func (q *Question) Input(request decision.Value) []byte {
	if q.visibility == nil {
		return request.Bytes()
	}
	return q.visibility.Input(request)
}

// Body returns the text of the body that the question was made of, with labels that were added.
func (q *Question) Body(body decision.Value) []byte {
	members := make(map[string]json.RawMessage)
	for key, member := range body.Members() {
		members[key] = member.Bytes()
		if key == "request" {
			members[key] = q.Input(member)
		}
	}
	return jsontext.Encode(members)
}

func questionOf(point string, o Options) (*Question, error) {
	q := &Question{open: o.Open, target: o.Target, first: cmp.Or(o.First, 1)}
	isSet := map[string]bool{"request": true, "open": o.Open != nil, "firstParameter": o.First > 0}
	if o.Open == nil {
		q.open = openDefault
	}
	if err := q.check(point, isSet); err != nil {
		return nil, err
	}
	return q, q.readColumns(o.Columns)
}

func read[T any](key string, value decision.Value, into *T, want string) error {
	if err := json.Unmarshal(value.Bytes(), into); err != nil {
		return invalid(key, "%s must be %s", key, want)
	}
	return nil
}

// check checks the members of a body beside its request and its columns.
func (q *Question) check(point string, isSet map[string]bool) error {
	switch {
	case !isSet["request"]:
		return invalid("request", `key "request" is missing`)
	case q.target == "":
		return invalid("target", `key "target" is missing`)
	case !slices.Contains(filter.Targets, q.target):
		return invalid("target", "unknown target %q", q.target)
	case isSet["open"] && point != decision.Access:
		return invalid("open", `unknown field "open"`)
	case isSet["firstParameter"] && q.first < 1:
		return invalid("firstParameter", "firstParameter must be from 1 to %d", maxFirst)
	case isSet["firstParameter"] && q.target != "sql+postgresql":
		return invalid("firstParameter", "firstParameter is for sql+postgresql alone")
	case q.first != filter.Literal && (q.first < 1 || q.first > maxFirst):
		return invalid("firstParameter", "firstParameter must be from 1 to %d", maxFirst)
	}
	for i, key := range q.open {
		field := fmt.Sprintf("open[%d]", i)
		if !slices.Contains(openable, key) {
			return invalid(field, "%s: unknown field %q", field, key)
		}
		if slices.Contains(q.open[:i], key) {
			return invalid(field, "%s: %q is there twice", field, key)
		}
	}
	return nil
}

// readRequest reads the request, which has nothing that rows have.
func (q *Question) readRequest(point string, request decision.Value, labels decision.ClusterLabels) error {
	at, _ := decision.FindPoint(point)
	if request.IsObject() {
		refused := map[string]string{"path": "a filter is about resources"}
		if point == decision.Visibility {
			refused = map[string]string{"items": "rows are the items", "aggregations": "values of rows are not part of a filter", "metrics": "values of rows are not part of a filter"}
		} else {
			for _, key := range q.open {
				refused[key] = "it is open"
			}
		}
		for key := range request.Members() {
			if why, ok := refused[key]; ok {
				return invalid("request."+key, "key %q must be absent: %s", "request."+key, why)
			}
		}
	}
	parsed, err := at.Parse(request, labels)
	if err != nil {
		found := *decision.AsInvalidRequest(err)
		if found.Field != "" {
			found.Field = "request." + found.Field
		}
		return &found
	}
	switch r := parsed.(type) {
	case *decision.VisibilityRequest:
		if r.Type == "" {
			return invalid("request.type", `key "type" must be a string that is not empty`)
		}
		q.visibility = r
	case *decision.Request:
		q.access = r
	default:
		return errors.New("the point has no filters")
	}
	return nil
}
