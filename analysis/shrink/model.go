package shrink

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/shrink/edit"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
	"github.com/writ-policy/writ/translator/syntax"
	"github.com/writ-policy/writ/translator/tables"
)

// Model is the roles and bindings of a directory with their places in its files.
type Model struct {
	o        *Options
	result   *translator.Result
	files    map[string]*edit.File
	roles    []*role
	bindings []*binding

	roleOf    map[string]*role // by tables.RoleKey
	bindingOf map[documentID]*binding
	equal     map[*role]map[string][]*rule // the rules of an aggregated role, by content
	was       *earlier                     // nil if nothing is young
}

// documentID identifies a binding as decisions name it.
type documentID struct{ apiVersion, kind, namespace, name string }

// document is a role or a binding.
type document struct {
	header *syntax.Header
	file   *edit.File
	place  *edit.Place // nil for documents of no file
	// fixed is why the document stays as it is, empty for no reason.
	fixed string
	order int
}

// The reasons why something stays whatever the log shows.
const (
	fixedSystem     = "system"
	fixedBootstrap  = "bootstrap"
	fixedKeep       = "keep"
	fixedGrace      = "grace"
	fixedBreakGlass = "break-glass"
	fixedDenial     = "denial"
	fixedShared     = "shared-node"
	fixedLayout     = "layout"
	fixedAggregated = "aggregated"
	fixedUnbound    = "unbound"
	fixedOnly       = "only"
	fixedToCome     = "to-come"
)

type role struct {
	document
	list        *syntax.Field // of rules, nil without any
	rules       []*rule
	isAggregate bool
	collects    []*role // roles without an aggregationRule that an aggregated one reaches
	isCollected bool
	bindings    []*binding // by aggregated roles as well
	own         int        // bindings that name the role
	pools       map[string]*pool
	gone        bool
}

// pool is the cells that the rules of a role grant under the same restrictions.
type pool struct {
	role  *role
	rules []*rule
	cells map[cell]bool
	held  map[cell]bool // that stay, because they are young
}

type rule struct {
	role       *role
	index      int
	node       *syntax.Node
	source     string
	isOrigin   bool
	isDeny     bool
	restricted string
	lists      []list
	pool       *pool
	fixed      string
	parts      []part // what it becomes, nil if it goes
}

// list is one list of a rule.
type list struct {
	field   *syntax.Field
	name    string
	entries []entry
	not     []entry // negations
}

type entry struct {
	index int
	value string
}

func (e entry) isWild() bool { return e.value == "*" || strings.HasPrefix(e.value, "*/") }

type binding struct {
	document
	role     *role
	names    string // the role, as the document names it
	subjects []*subject
	isDated  bool // it begins or ends
	gone     bool
}

type subject struct {
	binding   *binding
	principal string
	written   string
	list      *syntax.Field
	index     int
	at        *syntax.Node
	fixed     string
	// isAlone states that roles which such subjects alone hold stay as they are.
	isAlone bool
	gone    bool
}

// NewModel reads the texts of the documents that a snapshot was translated from.
func NewModel(r *translator.Result, files []source.File, o *Options) (*Model, error) {
	m := &Model{
		o: o, result: r, files: make(map[string]*edit.File), roleOf: make(map[string]*role), bindingOf: make(map[documentID]*binding),
		equal: make(map[*role]map[string][]*rule),
	}
	if o.Earlier != nil {
		m.was = newEarlier(o.Earlier)
	}
	texts := make(map[string][]byte)
	for _, f := range files {
		texts[f.Path] = f.Content.Bytes()
	}
	for i, d := range r.Directory.Documents() {
		doc := document{header: d.Meta(), order: i}
		name := doc.header.At.File
		text, isFile := texts[name]
		if !isAccess(d) {
			continue
		}
		if isFile && !doc.header.Bootstrap {
			if m.files[name] == nil {
				f, err := edit.Open(name, text)
				if err != nil {
					return nil, err
				}
				m.files[name] = f
			}
			doc.file = m.files[name]
			doc.place = doc.file.Place(doc.header.At.Line, doc.header.At.Column)
		}
		if doc.place == nil {
			doc.fixed = fixedBootstrap
		}
		m.add(d, doc)
	}
	if err := m.connect(); err != nil {
		return nil, err
	}
	m.protect()
	return m, nil
}

func isAccess(d syntax.Document) bool {
	switch d.(type) {
	case *access.KubernetesRole, *access.OriginRole, *access.KubernetesBinding, *access.OriginBinding:
		return true
	}
	return false
}

func (m *Model) add(d syntax.Document, doc document) {
	h := doc.header
	switch d := d.(type) {
	case *access.KubernetesRole:
		r := &role{document: doc, isAggregate: d.Aggregation != nil, pools: make(map[string]*pool)}
		if d.Aggregation == nil {
			m.readRules(r, len(d.Rules), func(i int) *rule { return &rule{source: d.Rules[i].At.Source()} })
		}
		m.roles, m.roleOf[tables.RoleKey(h.Family, h.Namespace, h.Name)] = append(m.roles, r), r
	case *access.OriginRole:
		r := &role{document: doc, pools: make(map[string]*pool)}
		m.readRules(r, len(d.Rules), func(i int) *rule {
			written := &d.Rules[i]
			out := &rule{source: written.At.Source(), isOrigin: true, isDeny: written.Deny}
			if written.Restrictions != nil {
				out.restricted = fmt.Sprint(i) // restrictions are not compared
			}
			return out
		})
		m.roles, m.roleOf[tables.RoleKey(h.Family, h.Namespace, h.Name)] = append(m.roles, r), r
	case *access.KubernetesBinding, *access.OriginBinding:
		b := &binding{document: doc, names: roleOfBinding(d)}
		if doc.place != nil {
			m.readSubjects(b)
		} else {
			b.addSubjects(d)
		}
		row := tables.Of[*tables.Access](m.result.Tables).BindingOf(h.APIVersion, h.Namespace, h.Name)
		if b.isDated = row.Dates != nil; b.isDated && m.o.Now != 0 && row.Dates.From != nil && m.o.Now < *row.Dates.From {
			b.fixed = cmp.Or(b.fixed, fixedToCome)
		}
		m.bindings = append(m.bindings, b)
		m.bindingOf[b.id()] = b
	}
}

// find returns a field of a document; the flat form of Origin ignores case.
func find(n *syntax.Node, names ...string) *syntax.Field {
	for _, name := range names {
		if f := n.Find(name, true); f != nil {
			return f
		}
	}
	return nil
}

// readRules reads the rules of a role from its text.
func (m *Model) readRules(r *role, count int, of func(int) *rule) {
	if r.place == nil {
		for i := range count {
			one := of(i)
			one.role, one.index, one.fixed = r, i, r.fixed
			r.rules = append(r.rules, one)
		}
		return
	}
	r.list = find(r.place.Node, "rules", "rule")
	isAlias := r.file.IsAlias(r.place.Node) || r.list != nil && r.file.IsAlias(r.list.Value)
	for i := range count {
		one := of(i)
		one.role, one.index, one.node = r, i, r.list.Value.Items[i]
		if isAlias || r.file.IsShared(one.node) {
			one.fixed = fixedShared
		}
		one.readLists()
		key := one.restricted
		switch {
		case !m.o.does(OnlyEntries) || !m.o.does(OnlyRules): // cells have no value of lists that stay, and a rule that stays is not another
			key = fmt.Sprint(i)
		case len(one.lists) == 2 && !one.isOrigin:
			key = "path"
		case one.isOrigin: // what one rule negates, another may grant
			key += one.negations()
		}
		if r.pools[key] == nil {
			r.pools[key] = &pool{role: r, cells: make(map[cell]bool), held: make(map[cell]bool)}
		}
		one.pool = r.pools[key]
		r.rules = append(r.rules, one)
	}
}

// listNames are the lists of rules, by the first that is there.
var listNames = [][]string{{"verbs", "nonResourceURLs"}, {"verbs", "resourceKinds"}, {"verbs", "apiGroups", "resources", "resourceNames"}}

func (r *rule) readLists() {
	names := listNames[2]
	switch urls := r.node.Find("nonResourceURLs", false); {
	case r.isOrigin:
		names = listNames[1]
	case urls != nil && len(urls.Value.Items) > 0:
		names = listNames[0]
	}
	for _, name := range names {
		l := list{name: name}
		if l.field = find(r.node, name); l.field != nil {
			for i, item := range l.field.Value.Items {
				value := item.Value
				if r.isOrigin {
					value = strings.ToLower(value)
					if bare, isNot := strings.CutPrefix(value, "-"); isNot {
						l.not = append(l.not, entry{i, bare})
						continue
					}
				}
				l.entries = append(l.entries, entry{i, valueOf(value)})
			}
		}
		r.lists = append(r.lists, l)
	}
}

// negations returns what the lists of a rule negate, in an order of its own.
func (r *rule) negations() string {
	var out []string
	for i := range r.lists {
		for _, n := range r.lists[i].not {
			out = append(out, r.lists[i].name+" -"+n.value)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// readSubjects reads the subjects of a binding from its text.
func (m *Model) readSubjects(b *binding) {
	add := func(f *syntax.Field, i int, principal, written string) {
		s := &subject{binding: b, principal: principal, written: written, list: f, index: i, at: f.Value.Items[i]}
		if b.file.IsAlias(b.place.Node) || b.file.IsAlias(f.Value) || b.file.IsShared(s.at) {
			s.fixed = fixedShared
		}
		b.subjects = append(b.subjects, s)
	}
	if b.header.Family == access.FamilyKubernetes {
		f := b.place.Node.Find("subjects", false)
		for i := range itemsOf(f) {
			text := func(name string) string {
				if f := f.Value.Items[i].Find(name, false); f != nil {
					return f.Value.Value
				}
				return ""
			}
			switch name := text("name"); text("kind") {
			case "User":
				add(f, i, tables.User(name), name)
			case "Group":
				add(f, i, tables.Group(name), name)
			default:
				add(f, i, tables.User(tables.Account(cmp.Or(text("namespace"), b.header.Namespace), name)), name)
			}
		}
		return
	}
	for _, kind := range []struct{ field, prefix string }{{"userNames", tables.UserPrefix}, {"groupNames", tables.GroupPrefix}} {
		f := find(b.place.Node, kind.field)
		for i, item := range itemsOf(f) {
			add(f, i, kind.prefix+item.Value, item.Value)
		}
	}
}

// addSubjects adds those of a binding without a text.
func (b *binding) addSubjects(d syntax.Document) {
	var principals []string
	switch d := d.(type) {
	case *access.KubernetesBinding:
		principals = principalsOf(d.Users, d.Groups)
	case *access.OriginBinding:
		principals = principalsOf(d.Users, d.Groups)
	}
	for _, p := range principals {
		b.subjects = append(b.subjects, &subject{binding: b, principal: p, fixed: b.fixed})
	}
}

func (b *binding) id() documentID {
	return documentID{b.header.APIVersion, b.header.Kind, b.header.Namespace, b.header.Name}
}

func itemsOf(f *syntax.Field) []*syntax.Node {
	if f == nil {
		return nil
	}
	return f.Value.Items
}

// name returns the document as decisions name it.
func (d *document) name() string {
	return tables.Title(d.header.Kind, d.header.Namespace, d.header.Name)
}

// line returns the place of a node of the document.
func (d *document) line(n *syntax.Node) string {
	at := d.header.At
	if n != nil {
		at = diag.Position{File: at.File, Line: n.Line, Column: n.Column}
	}
	return at.Source()
}

var kindForm = regexp.MustCompile(`^[a-z][a-z0-9-]*(/[a-z][a-z0-9-]*)?$`)
