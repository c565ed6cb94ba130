// Package report draws curves as SVG and describes the machine and its processes, for programs that
// measure.
package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Chart draws series over the number of bindings, both axes logarithmic. It is ready with a
// title and a unit.
type Chart struct {
	Title, Unit string
	names       []string
	series      map[string][][2]float64
}

// Add adds a point to a series. What is not above zero has no place on the axis and is left out.
func (c *Chart) Add(name string, n int, value float64) {
	if value <= 0 {
		return
	}
	if c.series == nil {
		c.series = make(map[string][][2]float64)
	}
	if !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
	c.series[name] = append(c.series[name], [2]float64{float64(n), value})
}

// Write writes the picture to a folder, and returns the line of Markdown that shows it.
func (c *Chart) Write(dir string) (string, error) {
	name := c.file()
	return fmt.Sprintf("![%s](%s)\n", c.Title, name), os.WriteFile(filepath.Join(dir, name), []byte(c.svg()), 0o644)
}

// file is the name of the picture: the words of the title.
func (c *Chart) file() string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(c.Title), func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", r) }), "-") + ".svg"
}

// The size of a picture in pixels, and the margins of its plot: the right one has the names
// of the series.
const (
	chartWidth, chartHeight = 900, 420
	left, right, top, under = 70, 290, 40, 40
)

var colors = []string{"#1b6ca8", "#c0392b", "#27823f", "#8e44ad", "#b9770e", "#16807a", "#5d6d7e", "#a04000", "#2e4053", "#e0559e"}

// svg returns the picture.
func (c *Chart) svg() string {
	minX, maxX, minY, maxY := c.decades()
	x := func(v float64) float64 {
		return left + (math.Log10(v)-minX)/(maxX-minX)*(chartWidth-left-right)
	}
	y := func(v float64) float64 {
		return chartHeight - under - (math.Log10(v)-minY)/(maxY-minY)*(chartHeight-top-under)
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&out, `<text x="%d" y="22" font-size="15">%s (%s)</text>`+"\n", left, c.Title, c.Unit)
	for d := minX; d <= maxX; d++ {
		at := x(math.Pow(10, d))
		fmt.Fprintf(&out, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			at, top, chartHeight-under, at, chartHeight-under+18, short(math.Pow(10, d)))
	}
	for d := minY; d <= maxY; d++ {
		at := y(math.Pow(10, d))
		fmt.Fprintf(&out, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, at, chartWidth-right, left-8, at+4, short(math.Pow(10, d)))
	}
	for i, name := range c.names {
		color := colors[i%len(colors)]
		var line strings.Builder
		for j, p := range c.series[name] {
			fmt.Fprintf(&line, "%c%.1f %.1f", "ML"[min(j, 1)], x(p[0]), y(p[1]))
			fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(p[0]), y(p[1]), color)
		}
		fmt.Fprintf(&out, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", line.String(), color)
		fmt.Fprintf(&out, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", chartWidth-right+15, top+12+18*i, color, name)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// decades returns the bounds of the axes as powers of ten.
func (c *Chart) decades() (minX, maxX, minY, maxY float64) {
	minX, minY, maxX, maxY = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, points := range c.series {
		for _, p := range points {
			minX, maxX = min(minX, math.Floor(math.Log10(p[0]))), max(maxX, math.Ceil(math.Log10(p[0])))
			minY, maxY = min(minY, math.Floor(math.Log10(p[1]))), max(maxY, math.Ceil(math.Log10(p[1])))
		}
	}
	return minX, max(maxX, minX+1), minY, max(maxY, minY+1)
}

// short writes a power of ten.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}
