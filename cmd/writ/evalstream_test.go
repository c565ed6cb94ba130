package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var manyItems = flag.Int("items", 100_000, "items for the test that a stream's memory does not grow with them")

const visibleVolumes = `
apiVersion: clusterpulse.io/v1alpha1
kind: MonitorAccessPolicy
metadata: {name: apps, namespace: p}
spec:
  identity: {subjects: {users: [alice]}}
  access: {effect: Allow}
  scope:
    clusters:
      rules:
        - selector: {matchLabels: {}}
          permissions: {view: true, viewMetrics: true}
          resources:
            - {type: pods, filters: {namespaces: {allowed: ["app-*"]}}}
            - {type: volume, filters: {namespaces: {allowed: ["app-*"]}}}
---
apiVersion: clusterpulse.io/v1alpha1
kind: MetricSource
metadata: {name: volumes, namespace: p}
spec:
  source: {apiVersion: v1, kind: PersistentVolumeClaim}
  fields: [{name: size, path: .size}, {name: padding, path: .padding}]
  aggregations:
    - {name: total, function: count}
    - {name: p90, function: percentile, percentile: 90, field: size}
    - {name: by_namespace, function: sum, field: size, groupBy: namespace}
  rbac: {resourceTypeName: volume}
`

// A list of a hundred thousand items needs no more memory than one of a thousand;
// where aggregations are computed, no more than what they read. Half of the items
// are visible.
func TestStreamMemoryDoesNotGrow(t *testing.T) {
	dir := visibleDir(t)
	padding := strings.Repeat("x", 1_000)
	for _, row := range []struct {
		name, typ string
		room      int64 // KiB on top of a short list
		numbers   string
	}{
		{"pods", "pods", 32 << 10, `{"aggregations":{},"metrics":{}}`},
		{"volumes and their aggregations", "volume", 64 << 10, fmt.Sprintf(`"total":%d`, *manyItems/2)},
	} {
		t.Run(row.name, func(t *testing.T) {
			stream := func(n int, numbers string) int64 {
				return peak(t, func(w io.Writer) {
					fmt.Fprintf(w, `{"user":"alice","cluster":{"name":"c"},"type":%q}`+"\n", row.typ)
					for i := range n {
						fmt.Fprintf(w, `{"name":"n%d","namespace":%q,"fields":{"size":%d,"padding":"%s"}}`+"\n", i, half(i), i, padding)
					}
				}, func(out io.Reader) { checkStream(t, out, n, numbers) }, "--policies", dir, "--point", "visibility", "--stream")
			}
			few, many := stream(1_000, ""), stream(*manyItems, row.numbers)
			t.Logf("peak memory: %d KiB for 1000 items, %d KiB for %d", few, many, *manyItems)
			if most := few + row.room; many > most {
				t.Errorf("got a peak of %d KiB for %d items, want at most %d", many, *manyItems, most)
			}
		})
	}
}

// Ten thousand items are also a request like any other.
func TestManyItemsInOneRequest(t *testing.T) {
	const n = 10_000
	memory := peak(t, func(w io.Writer) {
		io.WriteString(w, `{"user":"alice","cluster":{"name":"c"},"type":"volume","items":[{}`)
		for i := 1; i < n; i++ {
			fmt.Fprintf(w, `,{"name":"n%d","namespace":%q,"fields":{"size":%d}}`, i, half(i), i)
		}
		io.WriteString(w, "]}\n")
	}, func(out io.Reader) {
		var got struct {
			Decision     string
			Visible      []int
			Aggregations map[string]any
		}
		if err := json.NewDecoder(out).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Decision != "partial" || len(got.Visible) != n/2 || got.Visible[0] != 1 || got.Aggregations["total"] != float64(n/2) {
			t.Errorf("got %s, %d visible, %v, want partial and half of %d", got.Decision, len(got.Visible), got.Aggregations["total"], n)
		}
	}, "--policies", visibleDir(t), "--point", "visibility", "--max-line", "10000000")
	t.Logf("peak memory: %d KiB", memory)
	if most := int64(200 << 10); memory > most {
		t.Errorf("got a peak of %d KiB, want at most %d", memory, most)
	}
}

func visibleDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(visibleVolumes), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func half(i int) string { return [...]string{"hidden", "app-1"}[i%2] }

// checkStream wants every second of n items, from the first visible one on, and
// the numbers in the last line.
func checkStream(t *testing.T, out io.Reader, n int, numbers string) {
	t.Helper()
	scanner := bufio.NewScanner(out)
	next, last := 1, ""
	for number := 0; scanner.Scan(); number++ {
		last = scanner.Text()
		if number == 0 && !strings.HasPrefix(last, `{"decision":"partial",`) {
			t.Fatalf("got %s, want a decision", last)
		}
		var line struct{ Visible []int }
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		for _, index := range line.Visible {
			if index != next {
				t.Fatalf("got index %d, want %d", index, next)
			}
			next += 2
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if next != n+1 || !strings.Contains(last, numbers) {
		t.Errorf("got indexes before %d and %s, want %d and %s", next, last, n+1, numbers)
	}
}
