package opadata

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// recorded is what the JavaScript clients of OPA sent to a server with the documents in
// filtered, and what they made of the answers.
type recorded struct {
	// Rows are those that @ucast/js was asked about.
	Rows  []map[string]any
	Cases []struct {
		Name    string
		Request struct {
			Method, Path, Accept, ContentType string
			Body                              json.RawMessage
		}
		Status      int
		ContentType string
		Answer      map[string]any
		// Client is the filter that the client returned, and Error what it raised instead.
		Client any
		Error  string
		// Selected are the rows for which @ucast/js found the condition to hold; nil if it was
		// not asked.
		Selected []int
	}
}

// The JavaScript clients get the answers that they got when they were recorded, and what they
// select is what decisions show.
func TestJavaScriptClients(t *testing.T) {
	text, err := os.ReadFile("testdata/javascript.json")
	if err != nil {
		t.Fatal(err)
	}
	var all recorded
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	h := serve(t, buildOf(t, filtered), nil)
	visible := visibleRows(t, h, all.Rows)
	selected := 0
	for _, c := range all.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), c.Request.Method, c.Request.Path, strings.NewReader(string(c.Request.Body)))
			r.Header.Set("Accept", c.Request.Accept)
			r.Header.Set("Content-Type", c.Request.ContentType)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			var got map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			delete(got, "revision")
			if w.Code != c.Status || w.Header().Get("Content-Type") != c.ContentType || !reflect.DeepEqual(got, c.Answer) {
				t.Errorf("got %d %s %v\nwant %d %s %v", w.Code, w.Header().Get("Content-Type"), got, c.Status, c.ContentType, c.Answer)
			}
			// The client takes an answer without a result for an error: never is not everything.
			if raises := c.Status != http.StatusOK || c.Answer["result"] == nil; raises != (c.Error != "") || raises == (c.Client != nil) {
				t.Errorf("the client returned %v and raised %q", c.Client, c.Error)
			}
			if c.Selected != nil {
				selected++
				if !slices.Equal(c.Selected, visible) {
					t.Errorf("@ucast/js selects the rows %v, and decisions show %v", c.Selected, visible)
				}
			}
		})
	}
	if len(all.Cases) < 10 || selected < 3 {
		t.Errorf("found %d cases, %d with rows", len(all.Cases), selected)
	}
}

// visibleRows decides rows as items.
func visibleRows(t *testing.T, h http.Handler, rows []map[string]any) (visible []int) {
	t.Helper()
	var items []map[string]any
	for _, row := range rows {
		item := map[string]any{}
		for key, value := range row {
			if value != nil { // NULL
				item[key] = value
			}
		}
		items = append(items, item)
	}
	var request map[string]any
	if err := json.Unmarshal([]byte(sees), &request); err != nil {
		t.Fatal(err)
	}
	request["items"] = items
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/decisions/visibility", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var decision struct{ Visible []int }
	if err := json.Unmarshal(w.Body.Bytes(), &decision); err != nil || w.Code != http.StatusOK {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	return decision.Visible
}
