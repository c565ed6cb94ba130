package reach_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/writ-policy/writ/analysis/reach"
)

// A picture is XML that has no element, attribute or address of a name, and the names as text.
func TestPictureEscapesNames(t *testing.T) {
	const hostile = `"><script>alert(1)</script><a href='javascript:1' onload=x>&`
	hop := func(class reach.Class, denies ...reach.Grant) reach.Hop {
		return reach.Hop{Edge: "token", Class: class, As: &reach.Identity{User: hostile}, Becomes: &reach.Identity{User: "system:serviceaccount:a:" + hostile}, Text: hostile + ": becomes " + hostile, Denies: denies}
	}
	report := &reach.Report{Paths: []reach.Path{
		{Subject: "user:" + hostile, To: hostile, Hops: []reach.Hop{hop(reach.Certain)}},
		{Subject: "user:" + hostile, To: hostile, Hops: []reach.Hop{hop(reach.Assumed, reach.Grant{Kind: "DenyPolicy", Name: hostile})}},
	}}
	known := strings.Fields("svg defs marker path g title rect text a")
	attributes := strings.Fields(`xmlns viewBox width height role aria-label id refX refY markerWidth markerHeight orient d fill stroke font-family font-size class marker-end
		stroke-dasharray stroke-width x y rx text-anchor href`)
	for _, picture := range []string{report.SVG(), report.Linked(func(int, int) string { return "#" + hostile })} {
		names := 0
		for d := xml.NewDecoder(strings.NewReader(picture)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, picture)
			}
			switch token := token.(type) {
			case xml.StartElement:
				if !slices.Contains(known, token.Name.Local) {
					t.Errorf("element %s", token.Name.Local)
				}
				for _, a := range token.Attr {
					if !slices.Contains(attributes, a.Name.Local) || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
						t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
					}
				}
			case xml.CharData:
				if strings.Contains(string(token), "<script>") {
					names++
				}
			}
		}
		if names == 0 {
			t.Error("the picture has no name")
		}
	}
}
