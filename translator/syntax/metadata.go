package syntax

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/yaml"

	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
)

// ServerFields are the metadata fields that API servers add. They are accepted and
// ignored.
var ServerFields = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
	"selfLink", "ownerReferences", "finalizers",
}

// maxName bounds the name of a document in bytes, as an API server does.
const maxName = 253

// CheckName reports a name that is not a valid path segment, as Kubernetes requires for
// RBAC objects, or that is longer than maxName. It returns whether the name is valid.
func (d *Decoder) CheckName(n *Node, what string) bool {
	if len(n.Value) > maxName {
		d.Fail(n, diag.BadName, "", "%s %s: must be at most %d bytes", what, Quote(n.Value), maxName)
		return false
	}
	return d.CheckForm(n, diag.BadName, what, content.IsPathSegmentName(n.Value))
}

// CheckForm reports the first problem that a validator of Kubernetes returned for a value,
// and whether the value is valid.
func (d *Decoder) CheckForm(n *Node, code diag.Code, what string, problems []string) bool {
	if len(problems) == 0 {
		return true
	}
	// The problem is followed by an example and a regular expression.
	problem, example, _ := strings.Cut(problems[0], " (e.g. '")
	hint := ""
	if example, _, found := strings.Cut(example, "'"); found {
		hint = "write it like " + Quote(example)
	}
	d.Fail(n, code, hint, "%s %s: %s", what, Quote(n.Value), problem)
	return false
}

// NameInto reads the required name of a document and reports whether it is valid.
func (d *Decoder) NameInto(c *Cursor, h *Header) bool {
	n := d.nameInto(c, h)
	return n != nil && d.CheckName(n, "name")
}

// CustomNameInto is NameInto for a custom resource, whose name must be a DNS subdomain.
func (d *Decoder) CustomNameInto(c *Cursor, h *Header) bool {
	n := d.nameInto(c, h)
	return n != nil && d.CheckForm(n, diag.BadName, "name", content.IsDNS1123Subdomain(n.Value))
}

// NamespaceInto is NameInto for the namespace.
func (d *Decoder) NamespaceInto(c *Cursor, h *Header) bool {
	n := c.Required("namespace")
	if n != nil {
		h.Namespace = n.Value
	}
	return n != nil && d.CheckName(n, "namespace")
}

// nameInto reads the required name with its position. It returns nil if the name is absent.
func (d *Decoder) nameInto(c *Cursor, h *Header) *Node {
	n := c.Required("name")
	if n != nil {
		h.Name, h.NameAt = n.Value, d.At(n)
	}
	return n
}

// CheckNamespace reports a namespace that is not a DNS label, and whether it is one.
func (d *Decoder) CheckNamespace(n *Node) bool {
	return d.CheckForm(n, diag.BadName, "namespace", content.IsDNS1123Label(n.Value))
}

// MetadataInto reads the metadata of a document with a required name and an optional
// namespace, and reports whether the document has a valid name.
func (d *Decoder) MetadataInto(c *Cursor, h *Header) bool {
	m := c.RequiredMapping("metadata", "write metadata: {name: NAME}")
	if m == nil {
		return false
	}
	m.Skip(ServerFields...)
	m.Skip("labels", "annotations")
	identified := d.NameInto(m, h)
	if namespace := m.Text("namespace"); namespace != nil && d.CheckReferredName(namespace, "namespace") {
		h.Namespace = namespace.Value
	}
	m.Done()
	return identified
}

// NamespaceHint is the hint for a document without a namespace that may have a default one.
const NamespaceHint = "write its namespace, or use --default-namespace; of a kustomize base check what kustomize builds of it"

// FillNamespace sets the namespace of a document that has none to the default one, and
// reports whether there is one.
func (d *Decoder) FillNamespace(h *Header) bool {
	h.Namespace = d.DefaultNamespace
	return h.Namespace != ""
}

// Labels reads an optional map of labels, checked as the API server does.
func (c *Cursor) Labels(name string) map[string]string {
	inner := c.Mapping(name)
	if inner == nil {
		return nil
	}
	out := make(map[string]string, len(inner.Node.Fields))
	for _, f := range inner.Node.Fields {
		key := c.Decoder.labelKey(f.Key)
		c.Decoder.CheckForm(f.Key, diag.BadValue, "label", content.IsLabelKey(key))
		switch f.Value.Type {
		case String:
			c.Decoder.CheckForm(f.Value, diag.BadValue, "label value", content.IsLabelValue(f.Value.Value))
		case null:
		default:
			c.Fail(f.Value, diag.WrongType, QuoteHint(f.Value), "a label must be a string, not %s", Describe(f.Value))
			continue
		}
		if f.Value.Type == null {
			out[key] = ""
			continue
		}
		out[key] = f.Value.Value
	}
	return out
}

// labelKey returns the key of a label as Kubernetes reads it, whose parser follows YAML 1.1: on is
// "true" there, and 010 is "8". It warns of a key that is read as another text.
func (d *Decoder) labelKey(n *Node) string {
	if n.Quoted || n.Explicit || !mayBeOther.MatchString(n.Value) {
		return n.Value
	}
	var read map[string]string
	if err := yaml.Unmarshal([]byte(n.Value+": x"), &read); err != nil || len(read) != 1 {
		return n.Value
	}
	for key := range read {
		if key != n.Value {
			d.Warn(n, diag.BadValue, "write "+Quote(n.Value)+" in quotes, or "+Quote(key),
				"Kubernetes reads the label %s as %s", Quote(n.Value), Quote(key))
		}
		return key
	}
	return n.Value
}

// mayBeOther matches keys that are a number or a truth value in YAML 1.1.
var mayBeOther = regexp.MustCompile(`^(?i:[-+.0-9][-+.0-9a-fox_]*|y|n|yes|no|on|off|true|false)$`)

// CheckReferredName is CheckName for an optional field, which must not be empty if it is
// present.
func (d *Decoder) CheckReferredName(n *Node, what string) bool {
	if n.Value == "" {
		d.Fail(n, diag.BadName, "leave it out", "%s is empty", what)
		return false
	}
	return d.CheckName(n, what)
}

// The annotations that hold the dates of a document. Annotations with the same prefix and
// another name are mistakes: with a misspelt end a document would not end.
const (
	annotationPrefix    = "writ.dev/"
	annotationNotBefore = annotationPrefix + "not-before"
	annotationNotAfter  = annotationPrefix + "not-after"

	// AnnotationKeep states why a document must stay as it is, whatever a log shows.
	AnnotationKeep = annotationPrefix + "keep"
)

// WithDates marks the kinds of these names, whose decoders read or check the dates in
// annotations, and returns all. Dates in annotations of other kinds are reported.
func (k Kinds) WithDates(names ...string) Kinds {
	for i := range k {
		for _, name := range names {
			k[i].dated = k[i].dated || k[i].Name == name
		}
	}
	return k
}

// Dates are the dates of a document.
type Dates struct {
	// Period is when the document holds; nil: always.
	Period *dates.Period
	// End is nil without one.
	End *End
}

// End is the second bound of a period, with its position.
type End struct {
	time.Time
	At diag.Position
}

// EndAt returns the bound that a position states, nil for none.
func EndAt(t *time.Time, at diag.Position) *End {
	if t == nil {
		return nil
	}
	return &End{*t, at}
}

// dateReader reads the two bounds of a document.
type dateReader struct {
	d           *Decoder
	severity    diag.Severity
	from, until *time.Time
	wrong       bool
}

// read reads a bound. An absent bound and null do not limit.
func (r *dateReader) read(f *Field, into **time.Time) {
	if f == nil || f.Value.IsNull() {
		return
	}
	n, name := f.Value, f.Key.Value
	switch t, err := dates.Parse(n.Value); {
	case n.Type == List || n.Type == Mapping:
		r.report(n, diag.BadValue, dates.Hint, "%s must be a time, not %s", name, Describe(n))
	case err != nil || n.Type != String:
		r.report(n, diag.BadValue, dates.Hint, "%s %s: %s", name, Quote(n.Value), dates.ErrForm)
	default:
		*into = &t
		return
	}
	if n.Type != String {
		r.d.Observer.report(n, diag.WrongType)
	}
}

func (r *dateReader) report(n *Node, code diag.Code, hint, format string, args ...any) {
	r.wrong = true
	r.d.report(n, r.severity, code, hint, format, args...)
}

// dates returns the dates between the bounds, none if these are absent or wrong.
func (r *dateReader) dates(end *Field) Dates {
	if r.from != nil && r.until != nil && !r.until.After(*r.from) {
		r.report(end.Value, diag.NeverValid, "write a later end, or remove the document",
			"%s %s is not after the beginning, %s", end.Key.Value, Quote(end.Value.Value), dates.Format(*r.from))
	}
	if r.wrong {
		return Dates{}
	}
	out := Dates{Period: dates.Between(r.from, r.until)}
	if r.until != nil {
		out.End = EndAt(r.until, r.d.At(end.Value))
	}
	return out
}

// Time reads an optional time, and reports a value that is not one.
func (c *Cursor) Time(name string) *time.Time {
	if c == nil {
		return nil
	}
	var at *time.Time
	(&dateReader{d: c.Decoder}).read(c.Field(name), &at)
	return at
}

// Dates reads the fields notBefore and notAfter, and reports bounds that are not times.
func (c *Cursor) Dates() Dates {
	if c == nil {
		return Dates{}
	}
	r := dateReader{d: c.Decoder}
	end := c.Field("notAfter")
	r.read(c.Field("notBefore"), &r.from)
	r.read(end, &r.until)
	return r.dates(end)
}

// AnnotatedDates reads the dates of a document of a cluster from its metadata, and reports
// what is wrong with them. In an export of a cluster that is a warning, and the period is
// the one that fails closed, wrong: a caller who may annotate one object could otherwise stop
// every reload. effect is what the cluster does there all the same.
func (d *Decoder) AnnotatedDates(m *Cursor, wrong *dates.Period, effect string) Dates {
	annotations := d.annotations(m)
	if annotations == nil {
		return Dates{}
	}
	r := dateReader{d: d}
	if d.ClusterExport {
		r.severity = diag.Warning
	}
	var end *Field
	var first *Node
	for i := range annotations.Fields {
		f := &annotations.Fields[i]
		switch name := f.Key.Value; {
		case name == annotationNotBefore:
			r.read(f, &r.from)
		case name == annotationNotAfter:
			r.read(f, &r.until)
			end = f
		case name == AnnotationKeep:
			continue
		case strings.HasPrefix(name, annotationPrefix):
			r.report(f.Key, diag.UnknownAnnotation, nearAnnotation(name), "annotation %s is not known", Quote(name))
			continue
		default:
			continue
		}
		first = cmp.Or(first, f.Key)
	}
	if first != nil && d.ClusterExport {
		d.Warn(first, diag.DatesNotEnforced, "bind by a RoleBinding of "+VersionWrit+", or do not apply this document to a cluster",
			"the cluster itself %s at any time: it does not read %s", effect, Quote(first.Value))
	}
	out := r.dates(end)
	if r.wrong {
		out.Period = wrong
	}
	return out
}

// annotations reads the annotations of metadata, nil without any.
func (d *Decoder) annotations(m *Cursor) *Node {
	n := m.Value("annotations")
	if n != nil && n.Type != Mapping {
		m.Fail(n, diag.WrongType, "", "annotations must be a mapping, not %s", Describe(n))
		return nil
	}
	return n
}

func nearAnnotation(name string) string {
	return diag.Meant(name, []string{annotationNotBefore, annotationNotAfter}, "the annotations are "+annotationNotBefore+" and "+annotationNotAfter)
}

// CheckUndated reports annotations of dates in the metadata of a document whose kind does
// not read them. n may be nil.
func (d *Decoder) CheckUndated(n *Node, kind string) {
	if n == nil || n.Type != Mapping {
		return
	}
	f := n.Find("annotations", false)
	if f == nil || f.Value.Type != Mapping {
		return
	}
	hint := "dates are those of bindings and of DenyPolicies"
	if kind == "RoleBinding" {
		hint = "write notBefore and notAfter beside metadata"
	}
	for i := range f.Value.Fields {
		if key := f.Value.Fields[i].Key; strings.HasPrefix(key.Value, annotationPrefix) && key.Value != AnnotationKeep {
			d.Fail(key, diag.UnknownAnnotation, hint, "%s does not read the annotation %s", kind, Quote(key.Value))
		}
	}
}
