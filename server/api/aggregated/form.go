package aggregated

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/lists"
)

// The names of the API.
const (
	group    = "access.writ.dev"
	version  = "v1"
	plural   = "accessiblenamespaces"
	kind     = "AccessibleNamespace"
	metadata = "PartialObjectMetadata"
)

var (
	ownVersion  = metav1.GroupVersion{Group: group, Version: version}.String()
	metaVersion = metav1.SchemeGroupVersion.String()
)

// object is a namespace that the user may reach.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Access            access `json:"access"`
}

// access is what the user may do in a namespace.
type access struct {
	// Names is "*", a list of names, or a condition in UCAST.
	Names    any    `json:"names"`
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	APIGroup string `json:"apiGroup"`
}

// list is several objects, or their metadata.
type list[T any] struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []T `json:"items"`
}

// form is how objects are written.
type form struct {
	// as is Table, PartialObjectMetadata, or empty for the objects themselves.
	as string
	// includes is which objects the rows of a table have.
	includes metav1.IncludeObjectPolicy
	// hasColumns states that a table with columns was written: those of later events have none.
	hasColumns bool
}

// formOf returns the first form that the header Accept has of those there are. isList states
// that the answer is a list of objects, and not one or a watch.
func formOf(r *http.Request, isList bool) (*form, *exchange.Refusal) {
	ofMetadata := metadata
	if isList {
		ofMetadata += "List"
	}
	f := &form{includes: metav1.IncludeObjectPolicy(r.URL.Query().Get("includeObject"))}
	switch f.includes {
	case "", metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
	default:
		return nil, exchange.BadRequest("includeObject", fmt.Sprintf("includeObject must be %q, %q or %q", metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject))
	}
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	if accepted == "" {
		return f, nil
	}
	for _, media := range goautoneg.ParseAccept(accepted) {
		if !isJSON(&media) {
			continue
		}
		as := media.Params["as"]
		if as == "" {
			return f, nil
		}
		isOfMeta := media.Params["g"] == metav1.GroupName && media.Params["v"] == metav1.SchemeGroupVersion.Version
		if isOfMeta && (as == "Table" || as == ofMetadata) {
			f.as = strings.TrimSuffix(as, "List")
			return f, nil
		}
	}
	return nil, notAcceptable
}

var notAcceptable = &exchange.Refusal{Status: http.StatusNotAcceptable, Message: "the answer is application/json: objects, or meta.k8s.io/v1 Table or PartialObjectMetadata"}

// acceptsJSON reports whether a request accepts JSON as it is.
func acceptsJSON(r *http.Request) bool {
	accepted := strings.Join(r.Header.Values("Accept"), ",")
	for _, media := range goautoneg.ParseAccept(accepted) {
		if isJSON(&media) && media.Params["as"] == "" {
			return true
		}
	}
	return accepted == ""
}

func isJSON(media *goautoneg.Accept) bool {
	return media.Q > 0 && (media.Type == "application" && (media.SubType == "json" || media.SubType == "*") || media.Type == "*" && media.SubType == "*")
}

func metaOf(i *lists.Item, number uint64) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: i.Name, Labels: i.Labels, CreationTimestamp: metav1.Time{Time: i.Created}, ResourceVersion: strconv.FormatUint(number, 10),
	}
}

func objectOf(q *query, i *lists.Item, number uint64) *object {
	return &object{
		metav1.TypeMeta{Kind: kind, APIVersion: ownVersion}, metaOf(i, number),
		access{i.NamesJSON(), q.Verb, q.Resource, q.APIGroup},
	}
}

func metadataOf(i *lists.Item, number uint64) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: metadata, APIVersion: metaVersion}, ObjectMeta: metaOf(i, number)}
}

// one returns an object.
func (f *form) one(q *query, i *lists.Item, number uint64) any {
	switch f.as {
	case "Table":
		return f.table(q, []lists.Item{*i}, metav1.ListMeta{ResourceVersion: strconv.FormatUint(number, 10)}, number)
	case metadata:
		return metadataOf(i, number)
	}
	return objectOf(q, i, number)
}

// list returns a page of a list with a number.
func (f *form) list(q *query, part lists.Part, number uint64) any {
	about := metav1.ListMeta{ResourceVersion: strconv.FormatUint(number, 10)}
	if part.Next != "" {
		about.Continue = about.ResourceVersion + "." + part.Next
		rest := int64(len(part.List.Items) - part.Offset - len(part.Items))
		about.RemainingItemCount = &rest
	}
	switch f.as {
	case "Table":
		return f.table(q, part.Items, about, number)
	case metadata:
		out := list[*metav1.PartialObjectMetadata]{metav1.TypeMeta{Kind: metadata + "List", APIVersion: metaVersion}, about, make([]*metav1.PartialObjectMetadata, len(part.Items))}
		for i := range part.Items {
			out.Items[i] = metadataOf(&part.Items[i], number)
		}
		return out
	}
	out := list[*object]{metav1.TypeMeta{Kind: kind + "List", APIVersion: ownVersion}, about, make([]*object, len(part.Items))}
	for i := range part.Items {
		out.Items[i] = objectOf(q, &part.Items[i], number)
	}
	return out
}

// columns are those of tables.
var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "The name of the namespace."},
	{Name: "Access", Type: "string", Description: "What the user may do in it."},
	{Name: "Age", Type: "string", Description: "The time since the namespace was created."},
}

func (f *form) table(q *query, items []lists.Item, about metav1.ListMeta, number uint64) *metav1.Table {
	t := &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: metaVersion}, ListMeta: about, Rows: make([]metav1.TableRow, len(items))}
	if !f.hasColumns {
		t.ColumnDefinitions, f.hasColumns = columns, true
	}
	for n := range items {
		i := &items[n]
		age := "<unknown>"
		if !i.Created.IsZero() {
			age = duration.HumanDuration(time.Since(i.Created))
		}
		row := &t.Rows[n]
		row.Cells = []any{i.Name, accessText(q, i), age}
		switch f.includes {
		case metav1.IncludeNone:
		case metav1.IncludeObject:
			row.Object.Object = objectOf(q, i, number)
		default:
			row.Object.Object = metadataOf(i, number)
		}
	}
	return t
}

// accessText is what a user may do in a namespace, for people.
func accessText(q *query, i *lists.Item) string {
	text := q.Verb + " " + q.Resource
	if q.APIGroup != "" {
		text += "." + q.APIGroup
	}
	isItself := len(i.Names.List) == 1 && i.Names.List[0] == i.Name && q.Resource == "namespaces" && q.APIGroup == ""
	switch n := len(i.Names.List); {
	case i.Names.IsAny || isItself:
		return text
	case n > 3:
		return fmt.Sprintf("%s: %s and %d more", text, strings.Join(i.Names.List[:3], ", "), n-3)
	case n > 0:
		return text + ": " + strings.Join(i.Names.List, ", ")
	}
	return text + ": some names"
}

// GetObjectKind implements runtime.Object.
func (o *object) GetObjectKind() schema.ObjectKind { return &o.TypeMeta }

// DeepCopyObject implements runtime.Object.
func (o *object) DeepCopyObject() runtime.Object {
	out := *o
	o.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}
