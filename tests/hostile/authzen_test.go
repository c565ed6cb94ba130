package hostile

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/random"
)

const authzenPath = "/access/v1/"

var authzenAttack = &attack{
	target: "FuzzAuthZEN", decides: true,
	routes: []string{"POST " + authzenPath + "evaluation", "POST " + authzenPath + "evaluations"},
	draw: func(d random.Source, s *site, route string) *request {
		_, path, _ := strings.Cut(route, " ")
		if strings.HasSuffix(path, "evaluation") {
			return post(d, path, written(entitiesOf(s.drawNamed(d))))
		}
		var list []any
		for range d.IntN(4) {
			list = append(list, entitiesOf(s.drawNamed(d)))
		}
		body := entitiesOf(s.drawNamed(d))
		body["evaluations"] = list
		body["options"] = map[string]any{"evaluations_semantic": d.One([]string{"execute_all", "deny_on_first_deny", "permit_on_first_permit"})}
		return post(d, path, written(body))
	},
	judge: judgeAuthZEN,
}

// FuzzAuthZEN sends evaluations.
func FuzzAuthZEN(f *testing.F) { authzenAttack.fuzz(f) }

func judgeAuthZEN(x *exchange) string {
	body := strict(x.body)
	list, _ := body["evaluations"].([]any)
	if !strings.HasSuffix(x.sent.URL.Path, "s") || len(list) == 0 {
		return x.judgeDecision(x.caller() != nil && x.site.permits(body, nil), x.decoded()["decision"])
	}
	given, _ := x.decoded()["evaluations"].([]any)
	for i, answer := range given {
		decision, _ := answer.(map[string]any)
		item, _ := list[i].(map[string]any)
		if problem := x.judgeDecision(x.caller() != nil && item != nil && x.site.permits(item, body), decision["decision"]); problem != "" {
			return problem
		}
	}
	options, _ := body["options"].(map[string]any)
	if semantic := options["evaluations_semantic"]; (semantic == nil || semantic == "execute_all") && len(given) != len(list) {
		return "the answer has another number of decisions"
	}
	return ""
}

var authzenSearchAttack = &attack{
	target: "FuzzAuthZENSearch",
	routes: []string{"POST " + authzenPath + "search/subject", "POST " + authzenPath + "search/resource", "POST " + authzenPath + "search/action"},
	draw: func(d random.Source, s *site, route string) *request {
		_, path, _ := strings.Cut(route, " ")
		body := entitiesOf(s.drawNamed(d))
		if d.Once(3) {
			body["page"] = map[string]any{"limit": 1 + d.IntN(3)}
		}
		r := post(d, path, written(body))
		r.header = r.header[:1]
		r.from(d, "t-auditor")
		return r
	},
	judge: judgeSearch,
}

// FuzzAuthZENSearch sends searches.
func FuzzAuthZENSearch(f *testing.F) { authzenSearchAttack.fuzz(f) }

// judgeSearch compares each result with the oracle. About others only auditors search.
func judgeSearch(x *exchange) string {
	body := strict(x.body)
	own := x.caller()
	kind := x.sent.URL.Path[strings.LastIndex(x.sent.URL.Path, "/")+1:]
	results, ok := x.decoded()["results"].([]any)
	if !ok || body == nil || own == nil {
		return "the answer has no results"
	}
	subject, _ := body["subject"].(map[string]any)
	if !contains(own.groups, "auditors") {
		if kind == "subject" || subject["type"] != "user" || subject["id"] != own.name || subject["properties"] != nil {
			return "a caller that is not an auditor searches about others"
		}
		subject["properties"] = map[string]any{"groups": texts(own.groups)}
	}
	for _, result := range results {
		found, _ := result.(map[string]any)
		asked := map[string]any{"subject": body["subject"], "action": body["action"], "resource": body["resource"], "context": body["context"]}
		searched, _ := asked[kind].(map[string]any)
		copied := map[string]any{"properties": searched["properties"]}
		maps.Copy(copied, found)
		if kind == "action" {
			copied["properties"] = nil
		}
		asked[kind] = copied
		if kind != "action" && found["type"] != searched["type"] {
			return "a result is of another type"
		}
		if !x.site.permits(asked, nil) {
			return "a result is not permitted: " + written(found)
		}
	}
	return ""
}

func texts(list []string) []any {
	out := []any{}
	for _, text := range list {
		out = append(out, text)
	}
	return out
}

// drawNamed draws a request that AuthZEN can express: of a user, about a named resource.
func (s *site) drawNamed(d random.Source) oracle.Request {
	for {
		if r := s.drawAccess(d); r.User != "" && r.Resource != "" {
			r.Name = cmp.Or(r.Name, "any")
			return r
		}
	}
}

// entitiesOf writes a request as AuthZEN has it. Most properties of the resource are those
// of its attributes.
func entitiesOf(r oracle.Request) map[string]any {
	subject := map[string]any{"type": "user", "id": r.User, "properties": map[string]any{"groups": texts(r.Groups)}}
	if namespace, name, ok := strings.Cut(strings.TrimPrefix(r.User, "system:serviceaccount:"), ":"); ok && strings.HasPrefix(r.User, "system:serviceaccount:") && len(r.Groups) == 0 && !strings.Contains(name, ":") && namespace != "" && name != "" {
		subject = map[string]any{"type": "serviceAccount", "id": namespace + ":" + name}
	}
	properties := map[string]any{"apiGroup": r.APIGroup, "subresource": r.Subresource, "namespace": r.Namespace, "cluster": r.Cluster, "color": "red"}
	if r.Labels != nil {
		properties["labels"] = r.Labels
	}
	return map[string]any{
		"subject": subject, "action": map[string]any{"name": r.Verb},
		"resource": map[string]any{"type": r.Resource, "id": r.Name, "properties": properties},
	}
}

// permits is the naive reading of an evaluation, whose members may be left to defaults.
func (s *site) permits(body, defaults map[string]any) bool {
	part := func(name string) map[string]any {
		object, given := body[name]
		if object == nil {
			object, given = defaults[name]
		}
		out, ok := object.(map[string]any)
		if given && object != nil && !ok {
			return nil
		}
		return out
	}
	f := &fields{map[string]any{}, true}
	text := func(entity, key string) string {
		object := part(entity)
		value, given := object[key]
		if value == nil && given || !given {
			fallback, _ := defaults[entity].(map[string]any)
			value = fallback[key]
		}
		found, ok := value.(string)
		f.ok = f.ok && ok && found != ""
		return found
	}
	kind, id := text("subject", "type"), text("subject", "id")
	verb := text("action", "name")
	resource, name := text("resource", "type"), text("resource", "id")
	given := &fields{s.properties("resources", resource, name, part("resource")), true}
	r := oracle.Request{
		Verb: verb, Resource: resource, Name: name, APIGroup: given.text("apiGroup"), Subresource: given.text("subresource"),
		Namespace: given.text("namespace"), Cluster: given.text("cluster"), Labels: given.textMap("labels"),
	}
	held := &fields{s.properties("subjects", kind, id, part("subject")), true}
	switch kind {
	case "user":
		r.User, r.Groups = id, held.texts("groups")
	case "group":
		r.Groups = []string{id}
	case "serviceAccount":
		r.User = "system:serviceaccount:" + id
	default:
		r.User = kind + ":" + id
	}
	action := map[string]any{}
	if own, ok := part("action")["properties"].(map[string]any); ok {
		action = own
	}
	r.Attributes, _ = ints(map[string]any{"subject": held.object, "resource": given.object, "action": action, "context": part("context")}).(map[string]any)
	return f.ok && given.ok && held.ok && s.allows(r)
}

// properties are those of an entity: its own, and those of the inventory.
func (s *site) properties(list, kind, id string, entity map[string]any) map[string]any {
	out := map[string]any{}
	for _, e := range s.inventory[list] {
		if e["type"] == kind && e["id"] == id {
			stored, _ := e["properties"].(map[string]any)
			maps.Copy(out, stored)
		}
	}
	own, _ := entity["properties"].(map[string]any)
	maps.Copy(out, own)
	return out
}

// addInventory adds a document with the users and resources of the requests of the world.
func (s *site) addInventory() {
	s.inventory = map[string][]map[string]any{}
	seen := map[string]bool{}
	for i, r := range s.access.Requests(60) {
		if r.User == "" || r.Resource == "" {
			continue
		}
		groups := map[string]any{"groups": texts(slices.Compact(slices.Sorted(slices.Values(r.Groups))))}
		subject := map[string]any{"type": "user", "id": r.User, "properties": groups}
		resource := map[string]any{"type": r.Resource, "id": cmp.Or(r.Name, "any"), "properties": map[string]any{"namespace": r.Namespace, "apiGroup": r.APIGroup}}
		if i%3 == 0 {
			delete(subject, "properties")
			delete(resource, "properties")
		}
		for list, entity := range map[string]map[string]any{"subjects": subject, "resources": resource} {
			if key := list + written([]any{entity["type"], entity["id"]}); !seen[key] {
				seen[key] = true
				s.inventory[list] = append(s.inventory[list], entity)
			}
		}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "writ.dev/v1", "kind": "Inventory", "metadata": map[string]any{"name": "all"}, "spec": s.inventory,
	})
	if err != nil {
		panic(err)
	}
	s.files["inventory.json"] = string(text)
}
