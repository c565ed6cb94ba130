package inventory

import (
	_ "embed"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/syntax"
)

//go:embed fields.txt
var fieldTexts string

const kindInventory = "Inventory"

// kinds are the kinds of the family.
var kinds = syntax.KindsOf(syntax.VersionWrit, decodeInventory, kindInventory).WithTexts(fieldTexts)

func decodeInventory(d *syntax.Decoder, n *syntax.Node, kind *syntax.Field) {
	h, c := d.Begin(n, kind, family, syntax.VersionWrit)
	out := &document{Header: h}
	out.Auxiliary = true
	identified := d.MetadataInto(c, &out.Header)
	if spec := c.RequiredMapping("spec", ""); spec != nil {
		out.Subjects = decodeEntities(d, spec, "subjects", subjectProperties)
		out.Resources = decodeEntities(d, spec, "resources", resourceProperties)
		spec.Done()
	}
	c.Done()
	if identified {
		d.Out = append(d.Out, out)
	}
}

// properties are the properties that become attributes of a request, by the type that
// they must have; the others may be anything.
type properties struct{ texts, lists, maps []string }

var (
	subjectProperties  = properties{lists: []string{"groups"}}
	resourceProperties = properties{
		texts: []string{"apiGroup", "subresource", "namespace", "cluster"},
		maps:  []string{"labels"},
	}
)

func decodeEntities(d *syntax.Decoder, spec *syntax.Cursor, name string, known properties) []listedEntity {
	items, _ := spec.List(name)
	var out []listedEntity
	for _, n := range items {
		c := d.Cursor(n, "an entry of "+name, false)
		if c == nil {
			continue
		}
		kind, id := c.Required("type"), c.Required("id")
		e := listedEntity{Properties: decodeProperties(d, c, known)}
		c.Done()
		if kind != nil && id != nil && checkAccount(d, name, kind, id) {
			e.Type, e.ID, e.At = kind.Value, id.Value, d.At(id)
			out = append(out, e)
		}
	}
	return out
}

// checkAccount reports a service account whose id is not NAMESPACE:NAME, and whether the
// id is valid.
func checkAccount(d *syntax.Decoder, name string, kind, id *syntax.Node) bool {
	if name != "subjects" || kind.Value != "serviceAccount" {
		return true
	}
	namespace, account, _ := strings.Cut(id.Value, ":")
	if namespace != "" && account != "" && !strings.Contains(account, ":") {
		return true
	}
	d.Fail(id, diag.BadValue, "write NAMESPACE:NAME", "id %s of a serviceAccount must be a namespace and a name", syntax.Quote(id.Value))
	return false
}

// decodeProperties returns the properties of an entity as JSON, nil if it has none.
func decodeProperties(d *syntax.Decoder, c *syntax.Cursor, known properties) []byte {
	n := c.Value("properties")
	inner := c.Mapping("properties")
	if inner == nil || len(n.Fields) == 0 {
		return nil
	}
	for _, name := range known.texts {
		inner.Text(name)
	}
	for _, name := range known.lists {
		inner.Texts(name)
	}
	for _, name := range known.maps {
		inner.Pairs(name)
	}
	return d.Encoded(n)
}
