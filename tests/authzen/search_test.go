package authzen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/server/api"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/tests/oracle"
	"github.com/writ-policy/writ/tests/oracle/access"
)

// named is a subject or resource of a request.
type named struct {
	Type       string         `json:"type"`
	ID         string         `json:"id,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

// A search finds exactly the candidates that an evaluation permits, in random worlds, by
// pages of any size.
func TestSearchesFindWhatEvaluationsPermit(t *testing.T) {
	found, missed := 0, 0
	for seed := range uint64(4) {
		files, world := access.Generate(seed + 1)
		requests := world.Requests(80)
		subjectList, resourceList := entities(requests)
		files["inventory.json"] = written(map[string]any{
			"apiVersion": "writ.dev/v1", "kind": "Inventory", "metadata": map[string]any{"name": "all"},
			"spec": map[string]any{"subjects": subjectList, "resources": resourceList},
		})
		var verbs []string
		h := serve(t, files, func(o *api.Options) { verbs = o.Current().Tables().Verbs })
		if len(verbs) < 4 || slices.Contains(verbs, "*") {
			t.Fatalf("got verbs %q", verbs)
		}
		for i, r := range requests[:30] {
			if r.User == "" || r.Resource == "" {
				continue
			}
			subject := named{"user", r.User, map[string]any{"groups": r.Groups}}
			action := map[string]any{"name": r.Verb}
			resource := named{r.Resource, cmp.Or(r.Name, "any"), map[string]any{"namespace": r.Namespace}}
			for _, search := range []struct {
				path       string
				candidates []any
				key        string
			}{
				{subjects, candidatesOf(subjectList, "user", nil), "subject"},
				{resources, candidatesOf(resourceList, r.Resource, resource.Properties), "resource"},
				{actions, verbsOf(verbs), "action"},
			} {
				body := map[string]any{"subject": subject, "action": action, "resource": resource}
				switch search.key {
				case "subject":
					body[search.key] = named{Type: "user"}
				case "resource":
					body[search.key] = named{Type: r.Resource, Properties: resource.Properties}
				case "action":
					delete(body, search.key)
				}
				got := results(t, h, search.path, body, 1+i%5)
				var want []string
				for _, candidate := range search.candidates {
					asked := map[string]any{"subject": subject, "action": action, "resource": resource}
					asked[search.key] = candidate
					w := ask(h, evaluation, written(asked))
					if shortAnswer(w.Code, w.Body.Bytes()) == "true" {
						want = append(want, nameOf(candidate))
					} else {
						missed++
					}
				}
				slices.Sort(want)
				found += len(want)
				if !slices.Equal(got, want) {
					t.Errorf("seed %d, %s of %s: got %q, want %q", seed, search.path, written(body), got, want)
				}
			}
		}
	}
	if found < 100 || missed < 100 {
		t.Errorf("%d candidates are permitted and %d denied, which shows little", found, missed)
	}
}

// results are the names of all pages, sorted.
func results(t *testing.T, h http.Handler, path string, body map[string]any, limit int) (names []string) {
	t.Helper()
	for token, pages := "", 0; pages == 0 || token != ""; pages++ {
		body["page"] = map[string]any{"limit": limit, "token": token}
		answer := decoded(t, ask(h, path, written(body)))
		list := answer["results"].([]any)
		if pages > 100 || len(list) > limit || len(list) == 0 && pages > 0 {
			t.Fatalf("page %d of %d results", pages, len(list))
		}
		for _, result := range list {
			names = append(names, nameOf(result))
		}
		token = answer["page"].(map[string]any)["next_token"].(string)
	}
	slices.Sort(names)
	return names
}

func nameOf(entity any) string {
	switch e := entity.(type) {
	case named:
		return e.ID
	case map[string]any:
		return strings.ReplaceAll(fmt.Sprint(e["id"], e["name"]), "<nil>", "")
	}
	return ""
}

// entities are the users and resources of requests, some with properties.
func entities(requests []oracle.Request) (users, things []named) {
	seen := make(map[string]bool)
	for i, r := range requests {
		if r.User == "" || r.Resource == "" {
			continue
		}
		user, thing := named{Type: "user", ID: r.User}, named{Type: r.Resource, ID: cmp.Or(r.Name, "any")}
		if i%2 == 0 {
			user.Properties = map[string]any{"groups": append([]string{}, r.Groups...)}
			thing.Properties = map[string]any{"namespace": r.Namespace, "apiGroup": r.APIGroup}
		}
		if !seen["user "+user.ID] {
			users = append(users, user)
		}
		if key := thing.Type + " " + thing.ID; !seen[key] {
			things = append(things, thing)
		}
		seen["user "+user.ID], seen[thing.Type+" "+thing.ID] = true, true
	}
	return users, things
}

// candidatesOf are the entities of a type, with the properties of the search.
func candidatesOf(list []named, kind string, properties map[string]any) (candidates []any) {
	for _, e := range list {
		if e.Type == kind {
			candidates = append(candidates, named{e.Type, e.ID, properties})
		}
	}
	return candidates
}

func verbsOf(verbs []string) (candidates []any) {
	for _, verb := range verbs {
		candidates = append(candidates, map[string]any{"name": verb})
	}
	return candidates
}

func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts, numbers, lists and maps
	}
	return string(text)
}

// A key in another case is another key, and a key twice is an error: neither permits
// anything. The same holds for properties that become attributes of the request.
func TestKeysAreExact(t *testing.T) {
	files := fixture(t)
	files["groups.yaml"] = `
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: group-readers, namespace: master}
groupNames: [readers]
roleRef: {name: reader}
---
apiVersion: writ.dev/v1
kind: Policy
metadata: {name: shop, namespace: shop}
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: shop-readers, namespace: shop}
userNames: [sam]
roleRef: {name: reader, namespace: master}
`
	h := serve(t, files, nil)
	reading := toRead + "," + record1
	for _, row := range []struct{ name, body, want string }{
		{"a group", object(`"subject":{"type":"user","id":"gina","properties":{"groups":["readers"]}}`, reading), "true"},
		{"Groups", object(`"subject":{"type":"user","id":"gina","properties":{"Groups":["readers"]}}`, reading), "false"},
		{"GROUPS beside groups", object(`"subject":{"type":"user","id":"gina","properties":{"groups":[],"GROUPS":["readers"]}}`, reading), "false"},
		{"groups twice", object(`"subject":{"type":"user","id":"gina","properties":{"groups":[],"groups":["readers"]}}`, reading), "400"},
		{"groups are a string", object(`"subject":{"type":"user","id":"gina","properties":{"groups":"readers"}}`, reading), "400"},
		{"groups of the subject itself", object(`"subject":{"type":"user","id":"gina","groups":["readers"]}`, reading), "false"},
		{"a subject of type group", object(`"subject":{"type":"group","id":"readers"}`, reading), "true"},
		{"a subject of type Group", object(`"subject":{"type":"Group","id":"readers"}`, reading), "false"},
		{"Subject", object(`"Subject":{"type":"user","id":"alice"}`, reading), "400"},
		{"Subject beside subject", object(`"subject":{"type":"user","id":"eve"}`, `"Subject":{"type":"user","id":"alice"}`, reading), "false"},
		{"subject twice", object(`"subject":{"type":"user","id":"eve"}`, alice, reading), "400"},
		{"ID", object(`"subject":{"type":"user","ID":"alice"}`, reading), "400"},
		{"id twice, once escaped", object(`"subject":{"type":"user","id":"eve","\u0069d":"alice"}`, reading), "400"},
		{"Name", object(alice, `"action":{"Name":"read"}`, record1), "400"},
		{"a namespace", object(`"subject":{"type":"user","id":"sam"}`, toRead, `"resource":{"type":"record","id":"r","properties":{"namespace":"shop"}}`), "true"},
		{"Namespace", object(`"subject":{"type":"user","id":"sam"}`, toRead, `"resource":{"type":"record","id":"r","properties":{"Namespace":"shop"}}`), "false"},
		{"namespace is a number", object(`"subject":{"type":"user","id":"sam"}`, toRead, `"resource":{"type":"record","id":"r","properties":{"namespace":7}}`), "400"},
		{"labels are a list", object(alice, toRead, `"resource":{"type":"record","id":"r","properties":{"labels":[]}}`), "400"},
		{"a slash in the type", object(alice, toRead, `"resource":{"type":"record/status","id":"r"}`), "400"},
		{"a role of the request wins", object(`"subject":{"type":"user","id":"bob","properties":{"role":"guest"}}`, toWrite, record2), "false"},
		{"a role that is null wins", object(`"subject":{"type":"user","id":"bob","properties":{"role":null}}`, toWrite, record2), "false"},
		{"a role of the inventory", object(bob, toWrite, record2), "true"},
		{"an id in the properties", object(`"subject":{"type":"user","id":"eve","properties":{"id":"alice","type":"user"}}`, reading), "false"},
		{"a service account without a name", object(`"subject":{"type":"serviceAccount","id":"shop"}`, reading), "400"},
		{"not UTF-8", object(strings.ReplaceAll(`"subject":{"type":"user","id":"alice?"}`, "?", "\xff"), reading), "400"},
		{"half of a surrogate pair", object(`"subject":{"type":"user","id":"alice\ud800"}`, reading), "400"},
	} {
		w := ask(h, evaluation, row.body)
		if got := shortAnswer(w.Code, w.Body.Bytes()); got != row.want {
			t.Errorf("%s: got %q, want %q: %s", row.name, got, row.want, w.Body)
		}
	}
}

// A caller who is not an auditor searches about itself alone, with the groups that the
// server knows.
func TestWhoSearches(t *testing.T) {
	files := fixture(t)
	files["groups.yaml"] = `
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: group-readers, namespace: master}
groupNames: [readers]
roleRef: {name: reader}
`
	h := serve(t, files, func(o *api.Options) {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte("a,gina,1,readers\nb,vera,2,auditors\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		tokens, err := auth.ReadTokens(path)
		if err != nil {
			t.Fatal(err)
		}
		o.Rule.Authenticator, o.Rule.Auditors = tokens, []string{"auditors"}
	})
	gina := `"subject":{"type":"user","id":"gina"}`
	for _, row := range []struct{ token, path, body, want string }{
		{"a", actions, object(gina, record1), "read"},
		{"a", resources, object(gina, toRead, records), "record/record-1 record/record-2"},
		{"a", actions, object(`"subject":{"type":"user","id":"gina","properties":{"role":"admin"}}`, record1), "403"},
		{"a", actions, object(alice, record1), "403"},
		{"a", actions, object(`"subject":{"type":"group","id":"gina"}`, record1), "403"},
		{"a", subjects, object(users, toRead, record1), "403"},
		{"b", subjects, object(users, toRead, record1), "user/alice user/bob"},
		{"b", actions, object(alice, record1), "read write"},
		{"none", actions, object(gina, record1), "401"},
		{"none", evaluation, object(gina, toRead, record1), "401"},
		{"a", evaluation, object(alice, toRead, record1), "true"},
	} {
		w := ask(h, row.path, row.body, "Authorization", "Bearer "+row.token)
		if got := shortAnswer(w.Code, w.Body.Bytes()); got != row.want {
			t.Errorf("%s at %s of %s: got %q, want %q: %s", row.token, row.path, row.body, got, row.want, w.Body)
		}
	}
}

// A search about an id that the inventory does not list, of a type that it lists, finds
// nothing: a rule for everybody, or for every name, says nothing of what exists. Of a type
// that it does not list it finds what evaluations permit.
func TestSearchesAboutWhatIsNotListed(t *testing.T) {
	files := fixture(t)
	files["everything.yaml"] = `
apiVersion: writ.dev/v1
kind: Role
metadata: {name: everything, namespace: master}
rules: [{verbs: ["*"], resourceKinds: ["*"]}]
---
apiVersion: writ.dev/v1
kind: RoleBinding
metadata: {name: readers-of-everything, namespace: master}
userNames: [alice, eve]
groupNames: [readers]
roleRef: {name: everything}
`
	h := serve(t, files, func(*api.Options) {})
	const alice, eve, record, missing, other = `{"type":"user","id":"alice"}`, `{"type":"user","id":"eve"}`, `{"type":"record","id":"record-1"}`, `{"type":"record","id":"record-9"}`, `{"type":"folder","id":"f"}`
	for name, row := range map[string]struct {
		path, body string
		some       bool
	}{
		"subjects of a record":         {subjects, `{"subject":{"type":"user"},"action":{"name":"read"},"resource":` + record + `}`, true},
		"subjects of no record":        {subjects, `{"subject":{"type":"user"},"action":{"name":"read"},"resource":` + missing + `}`, false},
		"subjects of another type":     {subjects, `{"subject":{"type":"user"},"action":{"name":"read"},"resource":` + other + `}`, true},
		"resources of a user":          {resources, `{"subject":` + alice + `,"action":{"name":"read"},"resource":{"type":"record"}}`, true},
		"resources of no user":         {resources, `{"subject":` + eve + `,"action":{"name":"read"},"resource":{"type":"record"}}`, false},
		"resources of another type":    {resources, `{"subject":{"type":"group","id":"readers"},"action":{"name":"read"},"resource":{"type":"record"}}`, true},
		"actions of a user":            {actions, `{"subject":` + alice + `,"resource":` + record + `}`, true},
		"actions of no user":           {actions, `{"subject":` + eve + `,"resource":` + record + `}`, false},
		"actions on no record":         {actions, `{"subject":` + alice + `,"resource":` + missing + `}`, false},
		"actions on no record, stated": {actions, `{"subject":` + alice + `,"resource":{"type":"record","id":"record-9","properties":{"status":"active"}}}`, false},
	} {
		answer := decoded(t, ask(h, row.path, row.body))
		if list := answer["results"].([]any); len(list) > 0 != row.some || answer["page"].(map[string]any)["count"] != float64(len(list)) {
			t.Errorf("%s: got %v, want some %v", name, answer, row.some)
		}
	}
}
