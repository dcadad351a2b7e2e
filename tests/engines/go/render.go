// Renders templates with pongo2 until standard input ends, as javascript/render.cjs does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/flosch/pongo2"
)

type result map[string]string

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			return
		}
		encoded, err := json.Marshal(renderAll(line))
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(output, string(encoded))
		output.Flush()
	}
}

func renderAll(line string) []result {
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber() // it distinguishes 3 from 3.0
	var request []interface{}
	if err := decoder.Decode(&request); err != nil {
		panic(err)
	}
	results := []result{}
	source := ""
	var template *pongo2.Template
	var err error
	for _, each := range request[1].([]interface{}) {
		pair := each.([]interface{})
		if template == nil && err == nil || source != pair[0].(string) {
			source = pair[0].(string)
			template, err = pongo2.FromString(source)
		}
		if request[0] == "parse" && err == nil {
			results = append(results, result{"text": ""})
		} else {
			results = append(results, render(template, err, pair[1]))
		}
	}
	return results
}

func render(template *pongo2.Template, err error, context interface{}) result {
	text := ""
	if err == nil {
		text, err = template.Execute(pongo2.Context(withNumbers(context).(map[string]interface{})))
	}
	if err != nil {
		return result{"error": err.Error()}
	}
	return result{"text": text}
}

// Returns the value with integers and floats as Go has them.
func withNumbers(value interface{}) interface{} {
	switch value := value.(type) {
	case map[string]interface{}:
		converted := map[string]interface{}{}
		for name, member := range value {
			converted[name] = withNumbers(member)
		}
		return converted
	case json.Number:
		if integer, err := value.Int64(); err == nil {
			return int(integer)
		}
		float, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return float
	}
	return value
}
