package page

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
)

var pictures = flag.String("pictures", "", "write the pictures of the documentation to this folder")

// maxPicture bounds a picture, which is part of the repository.
const maxPicture = 120 << 10

// TestPictures makes the pictures of the documentation, of the examples.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("make pictures writes them")
	}
	s := newSite(t, nil)
	for _, l := range []look{desktop, {width: 1280, height: 800, dark: true}} {
		theme := "light"
		if l.dark {
			theme = "dark"
		}
		b := newTab(t, s.base, l)
		for name, view := range map[string]string{"ask": deniedView, "inheritance": "/page/inheritance?kind=RateLimitPolicy"} {
			b.open(view)
			b.find("main", "")
			picture := call(b, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Format: cdppage.CaptureScreenshotFormatPng}).Data
			picture = compress(t, picture)
			if len(picture) > maxPicture {
				t.Errorf("%s, %s: %d bytes, want at most %d", name, theme, len(picture), maxPicture)
			}
			if err := os.WriteFile(filepath.Join(*pictures, name+"-"+theme+".png"), picture, 0o644); err != nil { //nolint:gosec // as other files of the repository
				t.Fatal(err)
			}
		}
	}
}

// compress writes a picture with its 224 most frequent colours and 32 that are far from
// these, such as those of a small dot, as small as the format permits.
func compress(t *testing.T, content []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[color.Color]int)
	bounds := decoded.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(decoded.At(x, y))]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	palette := color.Palette(colours[:min(224, len(colours))])
	for range min(32, len(colours)-len(palette)) {
		palette = append(palette, slices.MaxFunc(colours, func(a, b color.Color) int { return distance(palette, a) - distance(palette, b) }))
	}
	reduced := image.NewPaletted(bounds, palette)
	draw.Draw(reduced, bounds, decoded, bounds.Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// distance is how far a colour is from the nearest one of a palette.
func distance(palette color.Palette, c color.Color) int {
	r, g, b, _ := c.RGBA()
	nr, ng, nb, _ := palette.Convert(c).RGBA()
	square := func(x, y uint32) int { d := int(x>>8) - int(y>>8); return d * d }
	return square(r, nr) + square(g, ng) + square(b, nb)
}

// The README shows two pictures, and they exist.
func TestReadmePictures(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`server/console/page/pictures/[a-z-]+\.png`).FindAllString(string(readme), -1)
	if len(found) < 2 {
		t.Errorf("README.md shows %d pictures of the page, want two", len(found))
	}
	for _, file := range found {
		if at, err := os.Stat("../../" + file); err != nil || at.Size() > maxPicture {
			t.Errorf("%s: %v", file, err)
		}
	}
}
