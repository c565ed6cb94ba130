package translator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/writ-policy/writ/translator/emit"
	"github.com/writ-policy/writ/translator/regotext"
)

// statedPath is the path of the generated test of the tables.
const statedPath = "compiled/tests/tables_test.rego"

// largestStated bounds the text of a member of a table that the test compares, because the
// command opa test ends a test after five seconds.
const largestStated = 2 << 20

// statedTests writes a test which fails if a member of a table is not the one that the
// documents were compiled to. The tests of the families show by requests what tables decide;
// a request cannot show that a list has no further entry.
func statedTests(data []byte) ([]byte, error) {
	var compiled map[string]json.RawMessage
	if err := json.Unmarshal(data, &compiled); err != nil {
		return nil, err
	}
	stated := make(map[string][2]string) // the reference and the hash, by the name of the member
	isCompiled := false
	for table, text := range compiled {
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			continue // it has no members; no table is such
		}
		for member, text := range members {
			if len(text) > largestStated {
				continue
			}
			isCompiled = isCompiled || hasElements(text)
			ref := "data.compiled" + regotext.Key(table) + regotext.Key(member)
			stated[table+"."+member] = [2]string{ref, regotext.Hash(text)}
		}
	}
	if !isCompiled {
		return nil, nil // a directory without documents has no test
	}
	return statedModule(stated), nil
}

// hasElements reports whether a member is a list or a mapping with a value in it, at any depth.
// Settings are plain values, which are there without documents.
func hasElements(member json.RawMessage) bool {
	var list []json.RawMessage
	if json.Unmarshal(member, &list) == nil {
		return len(list) > 0
	}
	var mapping map[string]json.RawMessage
	if json.Unmarshal(member, &mapping) != nil {
		return false
	}
	for _, value := range mapping {
		if isNested := bytes.HasPrefix(value, []byte("{")) || bytes.HasPrefix(value, []byte("[")); !isNested || hasElements(value) {
			return true
		}
	}
	return false
}

func statedModule(stated map[string][2]string) []byte {
	names := slices.Sorted(maps.Keys(stated))
	if len(names) == 0 {
		return nil
	}
	var out bytes.Buffer
	out.WriteString(`# METADATA
# description: |
#   The tables are those that the documents were compiled to. What they decide is tested
#   by requests, in the files beside this one.
package compiled.tests.tables_test

test_table[member] if {
	some member, hash in _hashes
	crypto.sha256(json.marshal(_members[member])) == hash
}
`)
	for _, member := range names {
		fmt.Fprintf(&out, "\n_members[%s] := %s\n", regotext.Quote(member), stated[member][0])
	}
	emit.WriteRows(&out, "_hashes", names, func(member string) (string, any) { return member, stated[member][1] })
	return out.Bytes()
}
