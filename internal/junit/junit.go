// Package junit writes reports in the JUnit format, which build servers read. A report contains
// no times, so that equal runs have equal reports.
package junit

import "encoding/xml"

// Report is the cases of a run. The zero value has none.
type Report struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Cases    []Case `xml:"testcase"`
}

// Case is one case, which passed without a failure.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	File    string   `xml:"file,attr"`
	Failure *Failure `xml:"failure"`
}

// Failure is why a case failed.
type Failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Add adds a case to a suite: the last one if it has the name, or a new one.
func (r *Report) Add(name string, c Case) {
	if last := len(r.Suites) - 1; last < 0 || r.Suites[last].Name != name {
		r.Suites = append(r.Suites, suite{Name: name})
	}
	s := &r.Suites[len(r.Suites)-1]
	s.Cases = append(s.Cases, c)
	s.Tests++
	r.Tests++
	if c.Failure != nil {
		s.Failures++
		r.Failures++
	}
}

// Encode returns the report as XML. The error is of a text that XML cannot hold.
func (r *Report) Encode() ([]byte, error) {
	text, err := xml.MarshalIndent(r, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}
