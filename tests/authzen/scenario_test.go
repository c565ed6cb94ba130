package authzen

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const (
	evaluation  = "/access/v1/evaluation"
	evaluations = "/access/v1/evaluations"
	subjects    = "/access/v1/search/subject"
	resources   = "/access/v1/search/resource"
	actions     = "/access/v1/search/action"
	metadata    = "/.well-known/authzen-configuration"

	alice    = `"subject":{"type":"user","id":"alice"}`
	bob      = `"subject":{"type":"user","id":"bob"}`
	admin    = `"subject":{"type":"user","id":"bob","properties":{"role":"admin"}}`
	users    = `"subject":{"type":"user"}`
	toRead   = `"action":{"name":"read"}`
	toWrite  = `"action":{"name":"write"}`
	record1  = `"resource":{"type":"record","id":"record-1"}`
	record2  = `"resource":{"type":"record","id":"record-2"}`
	active1  = `"resource":{"type":"record","id":"record-1","properties":{"status":"active"}}`
	archived = `"resource":{"type":"record","id":"record-2","properties":{"status":"archived"}}`
	records  = `"resource":{"type":"record"}`
	context  = `"context":{"time":"2025-06-27T18:03-07:00","ip":"192.168.1.1"}`
)

func object(members ...string) string { return "{" + strings.Join(members, ",") + "}" }

func several(items ...string) string { return `"evaluations":[` + strings.Join(items, ",") + `]` }

// scenario is the certification scenario: what is asked, and the status with the decisions
// or the results that an answer must have at least. An answer of "400" has no more.
var scenario = []struct{ level, number, name, path, body, want string }{
	{"Basic Core", "2.2.1", "permit", evaluation, object(alice, toRead, record1), "true"},
	{"Basic Core", "2.2.2", "deny", evaluation, object(bob, toWrite, record1), "false"},
	{"Basic Core", "1.4", "rule 2", evaluation, object(alice, toWrite, record1), "true"},
	{"Basic Core", "1.4", "rule 3", evaluation, object(bob, toRead, record1), "true"},
	{"Basic Core", "2.2.3", "with context", evaluation, object(alice, toRead, record1, context), "true"},
	{"Basic Core", "2.2.8", "further properties", evaluation, object(
		`"subject":{"type":"user","id":"alice","properties":{"department":"Sales","role":"manager"}}`,
		`"action":{"name":"read","properties":{"method":"GET"}}`,
		`"resource":{"type":"record","id":"record-1","properties":{"status":"active","owner":"bob"}}`), "true"},
	{"Basic Core", "2.2.9", "unknown fields", evaluation, object(alice, toRead, record1, `"foo":"bar"`, `"futureField":{"nested":true}`), "true"},
	{"Basic Core", "2.4.1", "no subject", evaluation, object(toRead, record1), "400"},
	{"Basic Core", "2.4.1", "no action", evaluation, object(alice, record1), "400"},
	{"Basic Core", "2.4.1", "no resource", evaluation, object(alice, toRead), "400"},
	{"Basic Core", "2.4.2", "subject without type", evaluation, object(`"subject":{"id":"alice"}`, toRead, record1), "400"},
	{"Basic Core", "2.4.2", "subject without id", evaluation, object(users, toRead, record1), "400"},
	{"Basic Core", "2.4.2", "action without name", evaluation, object(alice, `"action":{}`, record1), "400"},
	{"Basic Core", "2.4.2", "resource without type", evaluation, object(alice, toRead, `"resource":{"id":"record-1"}`), "400"},
	{"Basic Core", "2.4.2", "resource without id", evaluation, object(alice, toRead, records), "400"},
	{"Basic Core", "2.4.4", "malformed JSON", evaluation, `{"subject":`, "400"},
	{"Basic Core", "2.4.5", "empty body", evaluation, "", "400"},
	{"Basic Core", "2.4.6", "subject is a string", evaluation, object(`"subject":"alice"`, toRead, record1), "400"},
	{"Basic Core", "2.4.6", "name is a number", evaluation, object(alice, `"action":{"name":123}`, record1), "400"},
	{"Basic Properties", "2.2.4", "deny by the resource", evaluation, object(alice, toWrite, archived), "false"},
	{"Basic Properties", "2.2.5", "permit by the subject", evaluation, object(admin, toWrite, archived), "true"},
	{"Basic Properties", "2.2.6", "permit by the action", evaluation, object(alice, `"action":{"name":"delete","properties":{"soft":true}}`, record1), "true"},
	{"Basic Properties", "2.2.7", "deny by the action", evaluation, object(alice, `"action":{"name":"delete","properties":{"soft":false}}`, record1), "false"},

	{"Batch Core", "3.2.1", "several resources", evaluations, object(alice, toRead, several(object(record1), object(record2))), "true true"},
	{"Batch Core", "3.2.2", "in order", evaluations, object(bob, record1, several(object(toRead), object(toWrite))), "true false"},
	{"Batch Core", "3.2.5", "no defaults", evaluations, object(several(object(alice, toRead, record1), object(bob, toWrite, record1))), "true false"},
	{"Batch Core", "3.2.6", "context is inherited", evaluations, object(alice, toRead, context, several(object(record1), object(record2, `"context":{"source":"batch"}`))), "true true"},
	{"Batch Core", "3.4.1", "an evaluation fails", evaluations, object(alice, toRead, several(object(record1), "{}")), "true false"},
	{"Batch Core", "3.4.1", "malformed JSON", evaluations, `{"evaluations":[`, "400"},
	{"Batch Core", "3.4.2", "no evaluations", evaluations, object(alice, toRead, record1), "true"},
	{"Batch Core", "3.4.3", "empty evaluations", evaluations, object(alice, toRead, record1, several()), "true"},
	{"Batch Properties", "3.2.3", "of resources", evaluations, object(alice, toWrite, several(object(active1), object(archived))), "true false"},
	{"Batch Properties", "3.2.4", "of subjects", evaluations, object(toWrite, archived, several(object(alice), object(admin))), "false true"},
	{"Batch Properties", "3.2.7", "defaults are merged", evaluations, object(alice, toWrite, records,
		several(object(`"resource":{"id":"record-1","properties":{"status":"active"}}`), object(archived))), "true false"},

	{"Search Core", "4.2.1", "subjects", subjects, object(users, toRead, record1), "user/alice user/bob"},
	{"Search Core", "4.2.2", "subjects with context", subjects, object(users, toRead, record1, context), "user/alice user/bob"},
	{"Search Core", "4.2.3", "the id is ignored", subjects, object(alice, toRead, record1), "user/alice user/bob"},
	{"Search Core", "4.3.1", "resources", resources, object(alice, toRead, records), "record/record-1 record/record-2"},
	{"Search Core", "4.3.2", "the id is ignored", resources, object(alice, toRead, record2), "record/record-1 record/record-2"},
	{"Search Core", "4.4.1", "actions", actions, object(alice, record1), "read write"},
	{"Search Core", "4.4.2", "actions with context", actions, object(alice, record1, context), "read write"},
	{"Search Core", "4.5.1", "page with a limit", subjects, object(users, toRead, record1, `"page":{"limit":1}`), "user/alice"},
	{"Search Core", "4.6.1", "unknown id", actions, object(`"subject":{"type":"user","id":"nonexistent-user"}`, record1), "none"},
	{"Search Core", "4.6.2", "unknown type", subjects, object(`"subject":{"type":"spaceship"}`, toRead, record1), "none"},
	{"Search Core", "4.7.1", "no action", subjects, object(users, record1), "400"},
	{"Search Core", "4.7.1", "no subject", resources, object(toRead, records), "400"},
	{"Search Core", "4.7.1", "no resource", actions, object(alice), "400"},
	{"Search Core", "4.7.2", "resource without id", subjects, object(users, toRead, records), "400"},
	{"Search Core", "4.7.2", "subject without id", resources, object(users, toRead, records), "400"},
	{"Search Properties", "4.2.4", "subjects", subjects, object(users, toWrite, archived), "user/bob"},
	{"Search Properties", "4.3.3", "resources", resources, object(admin, toWrite, records), "record/record-2"},
	{"Search Properties", "4.4.3", "actions", actions, object(admin, archived), "read write"},
}

func TestCertificationScenario(t *testing.T) {
	h := serve(t, fixture(t), nil)
	levels := make(map[string]int)
	for _, row := range scenario {
		levels[row.level]++
		t.Run(fmt.Sprintf("%s/%s %s", row.level, row.number, row.name), func(t *testing.T) {
			w := ask(h, row.path, row.body, "X-Request-ID", "id-"+row.number)
			if got := w.Header().Get("X-Request-ID"); got != "id-"+row.number {
				t.Errorf("X-Request-ID: got %q", got)
			}
			if got := shortAnswer(w.Code, w.Body.Bytes()); got != row.want {
				t.Errorf("got %q, want %q\n%s\n%s", got, row.want, row.body, w.Body)
			}
			if w.Code == http.StatusOK && w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("content type: got %q", w.Header().Get("Content-Type"))
			}
			again := ask(h, row.path, row.body)
			if again.Body.String() != w.Body.String() || again.Code != w.Code {
				t.Errorf("asked again: got %d %s, want %d %s", again.Code, again.Body, w.Code, w.Body)
			}
		})
	}
	if len(levels) != 6 {
		t.Errorf("got levels %v", levels)
	}
}

// shortAnswer returns the decisions or results of an answer, or its status.
func shortAnswer(status int, body []byte) string {
	if status != http.StatusOK {
		return fmt.Sprint(status)
	}
	var answer struct {
		Decision    *bool
		Evaluations []struct{ Decision *bool }
		Results     []struct{ Type, ID, Name string }
		Page        struct {
			NextToken *string `json:"next_token"`
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err.Error()
	}
	var words []string
	if answer.Decision != nil {
		words = append(words, fmt.Sprint(*answer.Decision))
	}
	for _, e := range answer.Evaluations {
		if e.Decision == nil {
			return "an evaluation has no decision"
		}
		words = append(words, fmt.Sprint(*e.Decision))
	}
	for _, r := range answer.Results {
		words = append(words, strings.TrimPrefix(r.Type+"/"+r.ID+r.Name, "/"))
	}
	if len(words) == 0 && answer.Results != nil && answer.Page.NextToken != nil {
		return "none"
	}
	return strings.Join(words, " ")
}

// The content type must be JSON; X-Request-ID is optional.
func TestTransport(t *testing.T) {
	h := serve(t, fixture(t), nil)
	body := object(alice, toRead, record1)
	for _, media := range []string{"text/plain", "application/xml", "application/x-www-form-urlencoded", "x"} {
		if w := ask(h, evaluation, body, "Content-Type", media); w.Code != http.StatusBadRequest {
			t.Errorf("%s: got %d, want 400", media, w.Code)
		}
	}
	w := ask(h, evaluation, body, "Content-Type", "application/json; charset=utf-8")
	if got := shortAnswer(w.Code, w.Body.Bytes()); got != "true" || w.Header().Get("X-Request-ID") != "" {
		t.Errorf("got %q and header %q", got, w.Header().Get("X-Request-ID"))
	}
}

func TestDiscovery(t *testing.T) {
	object := decoded(t, ask(serve(t, fixture(t), nil), metadata, ""))
	if object["policy_decision_point"] != "https://pdp.example.com" {
		t.Errorf("got %v", object)
	}
	for key, path := range map[string]string{
		"access_evaluation_endpoint": evaluation, "access_evaluations_endpoint": evaluations,
		"search_subject_endpoint": subjects, "search_resource_endpoint": resources, "search_action_endpoint": actions,
	} {
		if object[key] != "https://pdp.example.com"+path {
			t.Errorf("%s: got %v", key, object[key])
		}
	}
}

// The semantics stop at the first denial or permission, errors included.
func TestSemantics(t *testing.T) {
	h := serve(t, fixture(t), nil)
	for _, row := range []struct{ semantic, items, want string }{
		{"execute_all", several(object(toRead), object(toWrite), object(toRead)), "true false true"},
		{"deny_on_first_deny", several(object(toRead), object(toWrite), object(toRead)), "true false"},
		{"deny_on_first_deny", several(object(toRead), `{"action":{"name":7}}`, object(toRead)), "true false"},
		{"deny_on_first_deny", several(object(toRead), object(toRead)), "true true"},
		{"permit_on_first_permit", several(object(toWrite), object(toRead), object(toRead)), "false true"},
		{"permit_on_first_permit", several(object(toWrite), "7", object(toWrite)), "false false false"},
		{"first_come", several(object(toRead)), "400"},
		{"EXECUTE_ALL", several(object(toRead)), "400"},
	} {
		w := ask(h, evaluations, object(bob, record1, row.items, `"options":{"evaluations_semantic":"`+row.semantic+`","other":1}`))
		if got := shortAnswer(w.Code, w.Body.Bytes()); got != row.want {
			t.Errorf("%s of %s: got %q, want %q", row.semantic, row.items, got, row.want)
		}
	}
}

// A token continues its own search, and no other one.
func TestPaging(t *testing.T) {
	h := serve(t, fixture(t), nil)
	var found []string
	token := ""
	for page := 0; page == 0 || token != ""; page++ {
		w := ask(h, subjects, object(users, toRead, record1, `"page":{"limit":1,"token":"`+token+`"}`))
		found = append(found, shortAnswer(w.Code, w.Body.Bytes()))
		p := decoded(t, w)["page"].(map[string]any)
		if p["count"] != 1.0 || page > 2 {
			t.Fatalf("page %d: got %s", page, w.Body)
		}
		last := token
		if token = p["next_token"].(string); token != "" {
			if w := ask(h, subjects, object(toRead, users, record2, `"page":{"token":"`+token+`"}`)); w.Code != http.StatusBadRequest {
				t.Errorf("a token of another search: got %d", w.Code)
			}
			// The same search, written differently.
			w := ask(h, subjects, object(record1, ` "action" : {"name":"read"}`, users, `"page":{"token":"`+token+`","limit":null}`))
			if got := shortAnswer(w.Code, w.Body.Bytes()); got != "user/bob" {
				t.Errorf("a token without a limit: got %q after %q", got, last)
			}
		}
	}
	if want := []string{"user/alice", "user/bob"}; !slices.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
	for _, page := range []string{`7`, `{"limit":0}`, `{"limit":-1}`, `{"limit":1.5}`, `{"limit":"1"}`, `{"token":7}`, `{"token":"x"}`, `{"token":"!"}`} {
		if w := ask(h, subjects, object(users, toRead, record1, `"page":`+page)); w.Code != http.StatusBadRequest {
			t.Errorf("page %s: got %d, want 400", page, w.Code)
		}
	}
}

// The answer to many evaluations is sent in pieces, and is whole.
func TestManyEvaluations(t *testing.T) {
	h := serve(t, fixture(t), nil)
	items := make([]string, 5000)
	for i := range items {
		items[i] = "{}"
	}
	w := ask(h, evaluations, object(alice, toRead, record1, several(items...)))
	list, _ := decoded(t, w)["evaluations"].([]any)
	if len(list) != len(items) || w.Body.Len() < 1<<20 {
		t.Errorf("got %d evaluations in %d bytes", len(list), w.Body.Len())
	}
	if w := ask(h, evaluations, object(alice, toRead, record1, several(slices.Repeat(items, 3)...))); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("15,000 evaluations: got %d, want 413", w.Code)
	}
}
