package metrics

import (
	"strings"
	"testing"
	"unsafe"
)

// The name of a cluster is a part of the body of a request, which its series must not keep.
func TestLabelsKeepNoBodies(t *testing.T) {
	body := strings.Repeat("c", 1<<10)
	name := body[:5]
	var p podSecurity
	for range 2 {
		if label := p.cluster(name); label != name || unsafe.StringData(label) == unsafe.StringData(name) {
			t.Errorf("the label %q is the text of the request", label)
		}
	}
}
